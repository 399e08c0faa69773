/** Why an address cannot be listened on, in words that go on from "cannot listen on …:". */
export function listenProblem({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'EADDRINUSE') return 'the port is in use'
  if (code === 'EACCES') return 'no permission: ports below 1024 need root or CAP_NET_BIND_SERVICE'
  if (code === 'EADDRNOTAVAIL') return 'this machine has no such address'
  if (code === 'ENOTFOUND') return 'no address is known for this name'
  return message
}
