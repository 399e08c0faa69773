import type { Asking, Exchange, Timers } from './exchange.js'
import { TcpExchange } from './tcp-exchange.js'
import { UdpExchange } from './udp-exchange.js'

/**
 * Puts a question to an upstream: once, on a socket of its own that is closed when the outcome is there. Whom to ask when, and how
 * often, is the asker's; so is the number of sockets open at once.
 */
export function askUpstream(asking: Asking, timers: Timers): Exchange {
  return (asking.transport === 'tcp' ? new TcpExchange(asking, timers) : new UdpExchange(asking, timers)).begin()
}
