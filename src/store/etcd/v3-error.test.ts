import { describe, expect, test } from 'vitest'
import { EtcdError } from './client.js'
import { etcdError, failureOf, isOtherRevision, isStaleToken, isTooLarge, withRight } from './v3-error.js'

describe('the errors of a client of etcd v3', () => {
  test.each([
    [
      '14 UNAVAILABLE: No connection established. Last error: connect ECONNREFUSED 127.0.0.1:1. Resolution note: ',
      'unreachable: connect ECONNREFUSED 127.0.0.1:1'
    ],
    ['14 UNAVAILABLE: No connection established. Last error: read ECONNRESET (2026-01-02T03:04:05.678Z)', 'unreachable: read ECONNRESET'],
    [
      '14 UNAVAILABLE: No connection established. Last error: Error: unable to verify the first certificate',
      'unreachable: the certificate of etcd is not trusted: unable to verify the first certificate'
    ],
    [
      "14 UNAVAILABLE: No connection established. Last error: Error [ERR_TLS_CERT_ALTNAME_INVALID]: Hostname/IP does not match certificate's altnames: IP",
      "unreachable: Hostname/IP does not match certificate's altnames: IP"
    ],
    [
      '14 UNAVAILABLE: 80BC:error:0A000412:SSL routines:ssl3_read_bytes:sslv3 alert bad certificate:../x.c:1601:SSL alert number 42\n',
      "unreachable: etcd refuses TLS, or this client's certificate: bad certificate"
    ],
    [
      '14 UNAVAILABLE: 80BC:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../x.c:355:\n',
      'unreachable: TLS: wrong version number'
    ],
    ['14 UNAVAILABLE: etcdserver: no leader', 'unreachable: no leader'],
    ['4 DEADLINE_EXCEEDED: Deadline exceeded after 0.3s,LB pick: 0.001s', 'unreachable: no answer within 300 ms'],
    ['13 INTERNAL: Received RST_STREAM with code 2', 'unreachable: Received RST_STREAM with code 2'],
    ['8 RESOURCE_EXHAUSTED: etcdserver: too many requests', 'unreachable: too many requests'],
    ['8 RESOURCE_EXHAUSTED: etcdserver: mvcc: database space exceeded', 'failed: database space exceeded'],
    ['11 OUT_OF_RANGE: etcdserver: mvcc: required revision has been compacted', 'compacted: required revision has been compacted'],
    ['11 OUT_OF_RANGE: etcdserver: mvcc: required revision is a future revision', 'failed: required revision is a future revision'],
    ['7 PERMISSION_DENIED: etcdserver: permission denied', 'denied: permission denied'],
    [
      '3 INVALID_ARGUMENT: etcdserver: authentication failed, invalid user ID or password',
      'denied: authentication failed, invalid user ID or password'
    ],
    ['rpc error: code = PermissionDenied desc = etcdserver: permission denied', 'denied: permission denied'],
    ['16 UNAUTHENTICATED: etcdserver: something new', 'denied: something new'],
    ['no gRPC\n\u001b[31m at all', 'failed: no gRPC [31m at all']
  ])('say %j as %j', (thrown, said) => {
    const { kind, message } = etcdError(failureOf(new Error(thrown)), 300)
    expect(`${kind}: ${message}`).toBe(said)
  })

  test.each([
    ['permission denied', 'write', '/skydns/', 'permission denied: expected a user with the right to write the keys below /skydns/'],
    ['permission denied', 'read', '\0', 'permission denied: expected a user with the right to read the keys below /'],
    ['authentication failed', 'read', '/skydns/', 'authentication failed']
  ] as const)('of %s to %s the keys from %j on say which right it takes', (message, right, from, said) => {
    const { kind, message: text } = withRight(new EtcdError('denied', message), right, Buffer.from(from))
    expect(`${kind}: ${text}`).toBe(`denied: ${said}`)
  })

  test('tell what can be helped', () => {
    const stale = ['16 UNAUTHENTICATED: etcdserver: invalid auth token', '3 INVALID_ARGUMENT: etcdserver: user name is empty']
    for (const text of stale) expect(isStaleToken(failureOf(new Error(text)))).toBe(true)
    expect(isStaleToken(failureOf(new Error('7 PERMISSION_DENIED: etcdserver: permission denied')))).toBe(false)
    const large = new Error('8 RESOURCE_EXHAUSTED: Received message larger than max (140000000 vs 134217728)')
    expect(isTooLarge(etcdError(failureOf(large), 1))).toBe(true)
    expect(isOtherRevision(etcdError(failureOf(large), 1))).toBe(false)
  })
})
