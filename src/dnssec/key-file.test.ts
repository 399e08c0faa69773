import { describe, expect, test } from 'vitest'
import { generateKeyPair, type KeyTexts, keyPairNames, readKeyPair } from './key-file.js'
import { KeyProblem } from './key-problem.js'

const [rsa, rsa512, p256, p384, ed25519, other] = await Promise.all(
  [8, 10, 13, 14, 15, 13].map((algorithm) => generateKeyPair('example.org', algorithm))
)
const pairs: [string, KeyTexts][] = [rsa!, rsa512!, p256!, p384!, ed25519!].map((made) => [made.key.mnemonic, made])
const { name, publicText, privateText, key } = p256!
const record = publicText.split('\n').at(-2)!
const base64 = record.split(' DNSKEY 257 3 13 ')[1]!

/** The problem that reading says, in one line that has nothing of the private key; fails where there is none. */
function problemOf(publicGiven: string, privateGiven: string, secrets = privateGiven): string {
  try {
    readKeyPair('K', publicGiven, privateGiven)
  } catch (error) {
    expect(error).toBeInstanceOf(KeyProblem)
    const { message } = error as KeyProblem
    expect(message).toMatch(/^K(\.key|\.private)?: \P{Cc}{5,300}$/u)
    const pieces = [...secrets.matchAll(/^(?!Modulus|PublicExponent)\w+: ([\w+/=]{20,})$/gm)].flatMap(
      ([, value = '']) => value.match(/.{10}/g) ?? []
    )
    expect(pieces.filter((piece) => message.includes(piece))).toEqual([])
    return message
  }
  throw new Error('it was read')
}

describe('a pair that was made is read again', () => {
  test.each(pairs)('%s', async (_, made) => {
    const read = readKeyPair(made.name, made.publicText, made.privateText)
    expect({ ...read }).toEqual({ ...made.key })
    expect(read.verifies(Buffer.from('octets'), await made.key.sign(Buffer.from('octets')))).toBe(true)
  })

  test('with the texts that dnssec-keygen writes', async () => {
    const made = await generateKeyPair('Example.ORG', 'ed25519', 256, Date.UTC(2026, 2, 4, 5, 6, 7))
    expect(made.publicText).toMatch(
      new RegExp(
        [
          `^; This is a zone-signing key, keyid ${made.key.tag}, for example\\.org\\.`,
          '; Created: 20260304050607 \\(Wed Mar {2}4 05:06:07 2026\\)',
          '; Publish: 20260304050607 \\(Wed Mar {2}4 05:06:07 2026\\)',
          '; Activate: 20260304050607 \\(Wed Mar {2}4 05:06:07 2026\\)',
          'example\\.org\\. IN DNSKEY 256 3 15 [\\w+/]{43}=\n$'
        ].join('\n')
      )
    )
    expect(made.privateText).toMatch(
      /^Private-key-format: v1\.3\nAlgorithm: 15 \(ED25519\)\nPrivateKey: [\w+/]{43}=\nCreated: 20260304050607\nPublish: 20260304050607\nActivate: 20260304050607\n$/
    )
    expect(made.name).toMatch(/^Kexample\.org\.\+015\+\d{5}$/)
  })

  test.each<[string, string, number | string, number, string]>([
    [
      'an algorithm that is weak',
      'a',
      5,
      257,
      'no key is made for RSASHA1, which rests on SHA-1: expected 8 (RSASHA256), 10 (RSASHA512), 13 '
    ],
    ['one that is not known', 'a', 'rsamd5', 257, 'unknown algorithm "rsamd5", expected 5 (RSASHA1), 7 (NSEC3RSASHA1), 8 (RSASHA256), 10 '],
    ['flags of no key of a zone', 'a', 13, 0, 'flags 0, expected 256 or 257'],
    ['a name that is none', 'a..b', 13, 257, '"a..b" is no name of a zone']
  ])('not made for %s', async (_, zone, algorithm, flags, problem) => {
    const error = await generateKeyPair(zone, algorithm, flags).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(KeyProblem)
    expect((error as KeyProblem).message).toContain(problem)
  })
})

describe('a .key may be written in other ways', () => {
  test.each<[string, string]>([
    ['with comments and empty lines', `; one\n\n;two ( "\n${record} ; three\n\n`],
    ['with the line ends of Windows', publicText.replaceAll('\n', '\r\n')],
    ['without an end of its line', record],
    ['with a TTL before the class', record.replace(' IN ', ' 3600 IN ')],
    ['with a TTL behind it', record.replace(' IN ', ' IN 1h30m ')],
    ['without a class', record.replace(' IN ', '\t')],
    ['in upper and lower case', record.replace('example.org. IN DNSKEY', 'EXAMPLE.oRg. in dnskey')],
    ['without the final dot', record.replace('example.org.', 'example.org')],
    ['with parentheses', record.replace('3 13 ', '( 3 ;a\n 13\n\n').concat('\n) ; b\n')],
    ['with the base64 in pieces', record.replace(base64, base64.replace(/\s/g, '').replace(/.{7}/g, '$& '))],
    ['with the algorithm’s mnemonic', record.replace('3 13 ', '3 EcdsaP256Sha256 ')],
    ['with needless escapes', record.replace('example', 'ex\\097\\m\\ple')]
  ])('%s', (_, text) => {
    expect({ ...readKeyPair(name, text, privateText) }).toEqual({ ...key })
  })
})

describe('a .private may be written in other ways', () => {
  test.each<[string, string]>([
    ['of format v1.2, without times', privateText.replace('v1.3', 'v1.2').replace(/\n(Created|Publish|Activate).*/g, '')],
    ['with the line ends of Windows', privateText.replaceAll('\n', '\r\n')],
    ['with comments', `; a\n${privateText.replace('Created', ';Created')}`],
    ['in lower-case names', privateText.replace(/^[\w-]+:/gm, (field) => field.toLowerCase())],
    ['without the name of the algorithm', privateText.replace(' (ECDSAP256SHA256)', '')],
    ['with lines nobody knows', `${privateText}Lifetime: 0\n`]
  ])('%s', (_, text) => {
    expect({ ...readKeyPair(name, publicText, text) }).toEqual({ ...key })
  })

  test.each(['Prime1', 'Prime2', 'Exponent1', 'Exponent2', 'Coefficient', 'Prime1|Prime2|Exponent1|Exponent2|Coefficient'])(
    'an RSA key without %s',
    async (fields) => {
      const text = rsa!.privateText.replace(new RegExp(`^(${fields}):.*\n`, 'gm'), '')
      expect(text).not.toBe(rsa!.privateText)
      const octets = Buffer.from('octets')
      expect(await readKeyPair('K', rsa!.publicText, text).sign(octets)).toEqual(await rsa!.key.sign(octets))
    }
  )
})

describe('a pair of no use is told', () => {
  const replaced = (of: string, what: string | RegExp, by: string): string => {
    expect(of.replace(what, by)).not.toBe(of)
    return of.replace(what, by)
  }
  test.each<[string, string, string, string | RegExp]>([
    ['an empty .key', '', privateText, 'K.key: has no record, expected a DNSKEY'],
    ['two records', `${record}\n${record}`, privateText, 'K.key: has more than one record, expected a DNSKEY alone'],
    ['a record without a name', replaced(record, 'example.org.', ''), privateText, 'K.key: its record has no name before it'],
    ['a bad name', replaced(record, 'example.org.', 'a..b'), privateText, 'K.key: its record has no name: "a..b"'],
    ['another type', replaced(record, 'DNSKEY', 'KEY'), privateText, 'K.key: has "KEY", expected a DNSKEY of class IN'],
    ['another class', replaced(record, ' IN ', ' CH '), privateText, 'K.key: has "CH", expected a DNSKEY of class IN'],
    ['no zone bit', replaced(record, '257', '1'), privateText, 'K.key: is no key of a zone (flags 1), expected flags 256 or 257'],
    ['a revoked key', replaced(record, '257', '385'), privateText, 'K.key: is revoked (flags 385): it signs nothing any more'],
    ['reserved flags', replaced(record, '257', '259'), privateText, 'K.key: has flags "259", expected 256 or 257'],
    ['no flags', replaced(record, '257', 'x'), privateText, 'K.key: has flags "x", expected 256 or 257'],
    ['another protocol', replaced(record, ' 3 13', ' 2 13'), privateText, 'K.key: has protocol "2", expected 3'],
    ['an unknown algorithm', replaced(record, ' 3 13', ' 3 16'), privateText, 'K.key: unknown algorithm "16", expected 5 (RSASHA1), 7 '],
    ['no public key', replaced(record, base64, ''), privateText, 'K.key: its public key is no base64, or cut short'],
    ['an unclosed parenthesis', replaced(record, '3 13', '( 3 13'), privateText, 'K.key: has a ( without a )'],
    ['an unopened one', replaced(record, '3 13', ') 3 13'), privateText, 'K.key: has a ) without a ('],
    ['quotes', replaced(record, '3 13', '"3" 13'), privateText, 'K.key: has a " where none can be'],
    ['a point off the curve', replaced(record, base64, Buffer.alloc(64, 1).toString('base64')), privateText, 'none of ECDSAP256SHA256'],
    ['a short public key', replaced(record, base64, 'AAAA'), privateText, 'has a public key of 3 octets, expected 64 of ECDSAP256SHA256'],
    ['a short RSA key', replaced(rsa!.publicText, /3 8 .*/, `3 8 ${shortRsa(64)}`), rsa!.privateText, 'of 512 bits, expected 1024 to 4096'],
    [
      'a long RSA key',
      replaced(rsa!.publicText, /3 8 .*/, `3 8 ${shortRsa(600)}`),
      rsa!.privateText,
      'of 4800 bits, expected 1024 to 4096'
    ],
    ['an RSA key cut short', replaced(rsa!.publicText, /3 8 .*/, '3 8 AAAA'), rsa!.privateText, 'none of RSA (RFC 3110): it is cut short'],
    ['an empty .private', publicText, '', 'K.private: has no line Private-key-format:'],
    ['another format', publicText, replaced(privateText, 'v1.3', 'v2.0'), 'K.private: has the format "v2.0", expected v1.2 or v1.3'],
    ['another algorithm', publicText, replaced(privateText, ': 13', ': 14'), 'K.private: is of algorithm 14, and its .key of 13'],
    ['no algorithm', publicText, replaced(privateText, /Algorithm.*/, ''), 'K.private: has no line Algorithm: with a number'],
    ['no private key', publicText, replaced(privateText, /PrivateKey.*/, ''), 'K.private: has no line PrivateKey:'],
    ['an empty one', publicText, replaced(privateText, /PrivateKey.*/, 'PrivateKey:'), 'its line privatekey: is no base64, or cut short'],
    ['one of zero', publicText, replaced(privateText, /PrivateKey.*/, `PrivateKey: ${Buffer.alloc(32).toString('base64')}`), 'K'],
    ['one too large', publicText, replaced(privateText, /PrivateKey.*/, `PrivateKey: ${Buffer.alloc(32, 255).toString('base64')}`), 'K'],
    [
      'a key twice',
      publicText,
      `${privateText}${/PrivateKey.*/.exec(privateText)![0]}\n`,
      'K.private: line 7 gives something a second time'
    ],
    ['a line of no kind', publicText, `${privateText}oops\n`, 'K.private: line 7 is none of the kind Name: value'],
    ['a key in hardware', publicText, `${privateText}Label: token\n`, 'K.private: says that the key is in a hardware module'],
    ['halves of two keys', publicText, other!.privateText, /halves of different keys|or not of the key in \.key/],
    ['halves of two RSA keys', rsa!.publicText, replaced(rsa512!.privateText, '10 (RSASHA512)', '8'), 'Modulus and PublicExponent differ'],
    [
      'a private key where the public one should be',
      `x. ${/PrivateKey: (.*)/.exec(privateText)![1]}`,
      privateText,
      'K.key: has something long, expected a DNSKEY'
    ],
    [
      'one in place of a name',
      `${/PrivateKey: (.*)/.exec(privateText)![1]!.repeat(2)} DNSKEY`,
      privateText,
      'K.key: its record has no name: something long'
    ],
    ['files in each other’s place', privateText, publicText, 'K.key: has']
  ])('%s', (_, publicGiven, privateGiven, problem) => {
    expect(problemOf(publicGiven, privateGiven)).toMatch(problem)
  })
})

function shortRsa(octets: number): string {
  return Buffer.concat([Buffer.of(3, 1, 0, 1), Buffer.alloc(octets, 255)]).toString('base64')
}

describe('damage is always told, never thrown as something else', () => {
  const fields = (text: string): string[] => text.split('\n').filter((line) => /^(?!Created|Publish|Activate)[\w-]+: /.test(line))

  test.each(pairs)('to octets of %s', (_, made) => {
    const keyText = made.publicText.split(' ').slice(-4).join(' ').trim()
    const values = fields(made.privateText).map((line) => line.split(': ')[1]!)
    let tried = 0
    for (const [of, value] of [[made.publicText, keyText] as const, ...values.slice(2).map((each) => [made.privateText, each] as const)]) {
      for (let step = 0; step < 24; step++) {
        const at = Math.floor((value.length * step) / 24)
        const letter = value[at] === 'Q' ? 'g' : 'Q'
        for (const bad of [
          value.slice(0, at),
          value.slice(at + 1),
          value.slice(0, at) + letter + value.slice(at + 1),
          `${value}${letter}`,
          `${letter}=${value}`
        ]) {
          if (bad === value) continue
          const text = of.replace(value, bad)
          problemOf(of === made.publicText ? text : made.publicText, of === made.publicText ? made.privateText : text, made.privateText)
          tried++
        }
      }
    }
    expect(tried).toBeGreaterThan(200)
  })

  test.each(pairs)('to lines of %s', (_, made) => {
    for (const line of fields(made.privateText)) {
      const without = made.privateText.replace(`${line}\n`, '')
      if (/^(Prime|Exponent|Coefficient)/.test(line)) readKeyPair('K', made.publicText, without)
      else problemOf(made.publicText, without, made.privateText)
      problemOf(made.publicText, `${made.privateText}${line}\n`)
    }
    const words = made.publicText.split('\n').at(-2)!.split(' ')
    for (const index of words.keys()) {
      const without = words.toSpliced(index, 1).join(' ')
      if (words[index] !== 'IN') problemOf(without, made.privateText)
    }
  })

  test('to all of it', () => {
    for (let length = 0; length < record.length - 1; length++) problemOf(record.slice(0, length), privateText)
    for (let i = 0; i < 300; i++) {
      const noise = Buffer.from(Array.from({ length: 40 }, (_, at) => (i * 7919 + at * at * 104_729 + (i >> 3) * at) & 0xff)).toString(
        'latin1'
      )
      problemOf(noise, privateText)
      problemOf(publicText, noise, privateText)
    }
  })
})

describe('key pairs are found by their names', () => {
  const names = [
    'Kexample.org.+013+00001.key',
    'Kexample.org.+013+00001.private',
    'KExample.ORG.+008+00002.key',
    'KExample.ORG.+008+00002.private',
    'Kexample.org.+013+00003.key',
    'Kexample.org.+013+00004.private',
    'Kexample.org.+13+00005.key',
    'Kexample.org.+13+00005.private',
    'xKexample.org.+013+00006.key',
    'xKexample.org.+013+00006.private',
    'K.+013+00007.key',
    'K.+013+00007.private',
    'Ka%2Fb%2Ec%20d%C8%2B.example.+013+00008.key',
    'Ka%2Fb%2Ec%20d%C8%2B.example.+013+00008.private',
    'Kx\\.y.example.+013+00009.key',
    'Kx\\.y.example.+013+00009.private',
    'Ka..example.+013+00010.key',
    'Ka..example.+013+00010.private',
    'dsset-example.org.'
  ]
  test.each<[string, string[]]>([
    ['example.org', ['Kexample.org.+013+00001', 'KExample.ORG.+008+00002']],
    ['EXAMPLE.org.', ['Kexample.org.+013+00001', 'KExample.ORG.+008+00002']],
    ['.', ['K.+013+00007']],
    ['a/b\\.c\\032d\\200+.example', ['Ka%2Fb%2Ec%20d%C8%2B.example.+013+00008']],
    ['x\\.y.example', ['Kx\\.y.example.+013+00009']],
    ['org', []]
  ])('of %s', (zone, bases) => {
    expect(keyPairNames(names, zone)).toEqual(bases)
  })
})
