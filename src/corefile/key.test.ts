import { describe, expect, test } from 'vitest'
import { ConfigError } from './directive.js'
import { DEFAULT_PORTS, readKeys } from './key.js'

const at = { file: 'Corefile', line: 7, column: 1 }

function read(text: string, quoted = false) {
  const warnings: string[] = []
  const keys = readKeys(text, { ...at, text, quoted, newlines: 0 }, (problem) => warnings.push(problem))
  return { keys, warnings }
}

describe('reads the key', () => {
  test.each([
    ['.', 'dns', '.', undefined],
    ['.:53', 'dns', '.', 53],
    ['dns://a', 'dns', 'a.', undefined],
    ['a:0', 'dns', 'a.', 0],
    ['a:65535', 'dns', 'a.', 65535],
    ['a:01053', 'dns', 'a.', 1053],
    ['tls://a:1853', 'tls', 'a.', 1853],
    ['quic://a', 'quic', 'a.', undefined],
    ['grpc://a', 'grpc', 'a.', undefined],
    ['https3://a', 'https3', 'a.', undefined],
    ['unix:///run/dns.sock', 'unix', '/run/dns.sock.', undefined],
    ['EXAMPLE.Org.', 'dns', 'example.org.', undefined],
    ['0/25.2.0.192.in-addr.arpa', 'dns', '0/25.2.0.192.in-addr.arpa.', undefined],
    ['_tcp.*.-a.4', 'dns', '_tcp.*.-a.4.', undefined],
    ['bücher.example', 'dns', 'b\\195\\188cher.example.', undefined],
    ['host\\046x.org', 'dns', 'host\\.x.org.', undefined],
    ['exam\\ple.org', 'dns', 'example.org.', undefined],
    ['a\\:53', 'dns', 'a:53.', undefined],
    ['a\\\\:53', 'dns', 'a\\\\.', 53],
    ['{{a}}', 'dns', '{{a}}.', undefined]
  ])('%s', (text, scheme, zone, port) => {
    expect(read(text).keys).toEqual([{ text, scheme, zone, port, at }])
  })

  test.each([
    ['a b.org', 'a\\032b.org.'],
    ['front\\ door.org', 'front\\032door.org.'],
    ['a"b.org', 'a\\"b.org.'],
    ['a{b', 'a{b.']
  ])('%s in quotes', (text, zone) => {
    expect(read(text, true).keys.map((key) => key.zone)).toEqual([zone])
  })
})

describe('refuses the key', () => {
  test.each([
    ['a:', 'no port after the colon'],
    ['.:', 'no port after the colon'],
    [':53', 'no zone'],
    ['tls://', 'no zone'],
    ['a:65536', 'the port "65536" is too high, expected 0 to 65535'],
    ['a:99999999999999999999', 'is too high'],
    ['a:+53', 'expected a number after the colon'],
    ['a:-1', 'expected a number after the colon'],
    ['.:0x35', 'expected a number after the colon'],
    ['a:domain', 'expected a number after the colon'],
    ['a:53:54', 'expected a number after the colon'],
    ['http://a', 'the scheme "http" is unknown, did you mean https?'],
    ['TLS://a', 'the scheme "TLS" is unknown, did you mean tls?'],
    ['udp://a', 'expected one of dns, tls, https, quic, grpc, https3, unix'],
    ['dns://dns://a', 'two schemes'],
    ['https://example.org/dns-query', 'a path'],
    ['a/b', 'a path'],
    ['example.org{', 'a brace in a zone, expected a space'],
    ['.{', 'a brace in a zone, expected a space'],
    ['}a', 'a brace in a zone, expected a space'],
    ['a}{', 'a brace in a zone, expected a space'],
    ['{', 'a brace in a zone, expected a space'],
    ['$ZONE', 'a $ as in a shell'],
    [`\${ZONE}`, 'a $ as in a shell'],
    ['exa"mple.org"', 'a quote inside a word'],
    ['a..b', 'no domain name: an empty label'],
    ['.a', 'no domain name: an empty label'],
    ['a\\', 'no domain name: a backslash at the end'],
    ['a\\300', 'no domain name: a bad escape'],
    ['a'.repeat(64), 'no domain name: a label longer than 63'],
    ['a.'.repeat(128), 'no domain name: a name longer than 255'],
    ['a'.repeat(5000), 'too long'],
    ['192.0.2.1', 'an address, expected a zone: bind takes addresses'],
    ['192.0.2.1.', 'an address'],
    ['127.0.0.1:53', 'an address'],
    ['2001:db8::', 'an address'],
    ['2001:db8::1053', 'an address'],
    ['[::1]:53', 'an address'],
    ['[::1]', 'an address'],
    ['::ffff:192.0.2.1/128', 'an IPv4 network written as IPv6'],
    ['0:0::ffff:c000:0/98', 'an IPv4 network written as IPv6'],
    ['192.0.2.0/33', 'looks like a network but is none'],
    ['192.0.2.0/', 'looks like a network but is none'],
    ['192.0.2/24', 'looks like a network but is none'],
    ['192.0.2.0/24.', 'looks like a network but is none'],
    ['192.000.002.0/24', 'looks like a network but is none'],
    ['2001:db8::/129', 'looks like a network but is none'],
    ['[2001:db8::]/32', 'looks like a network but is none']
  ])('%s', (text, expected) => {
    let problem: unknown
    try {
      read(text)
    } catch (error) {
      problem = error
    }
    expect(problem).toBeInstanceOf(ConfigError)
    expect((problem as ConfigError).message).toContain(expected)
    expect((problem as ConfigError).message).toMatch(/^Corefile:7: "/)
  })
})

describe('reads a network as its reverse zones', () => {
  test.each([
    ['192.0.2.0/24', 'dns', ['2.0.192.in-addr.arpa.'], undefined],
    ['192.0.2.0/024:53', 'dns', ['2.0.192.in-addr.arpa.'], 53],
    ['tls://10.0.0.0/15', 'tls', ['0.10.in-addr.arpa.', '1.10.in-addr.arpa.'], undefined],
    ['2001:DB8::/32', 'dns', ['8.b.d.0.1.0.0.2.ip6.arpa.'], undefined],
    ['2001:db8::/32:1053', 'dns', ['8.b.d.0.1.0.0.2.ip6.arpa.'], 1053],
    ['::/0', 'dns', ['ip6.arpa.'], undefined],
    ['::1/128', 'dns', [`1.${'0.'.repeat(31)}ip6.arpa.`], undefined]
  ])('%s', (text, scheme, zones, port) => {
    expect(read(text)).toEqual({ keys: zones.map((zone) => ({ text, scheme, zone, port, at })), warnings: [] })
  })
})

describe('warns of', () => {
  test.each([
    ['_tcp.example.org', 'the zone "_tcp.example.org" is not in preferred syntax: letters, digits and hyphens inside'],
    ['tls://-a.example.org:853', 'the zone "-a.example.org" is not in preferred syntax: letters, digits and hyphens inside'],
    ['*.example.org', '"*.example.org" is a zone whose name has a star, not a pattern; a zone covers all names below it anyway'],
    ['bücher.example', '"bücher.example" is a zone of these octets; clients ask for "xn--bcher-kva.example"']
  ])('%s', (text, warning) => {
    expect(read(text).warnings).toEqual([warning])
  })

  test.each([
    '.',
    'a',
    'EXAMPLE.org.',
    '4.example.org',
    'xn--bcher-kva.example',
    '0/25.2.0.192.in-addr.arpa',
    'x_y.ip6.arpa',
    'unix:///run/a'
  ])('nothing in %s', (text) => {
    expect(read(text).warnings).toEqual([])
  })
})

test('each scheme has the port of CoreDNS', () => {
  expect(DEFAULT_PORTS).toEqual({ dns: 53, tls: 853, https: 443, quic: 853, grpc: 443, https3: 443, unix: undefined })
})
