import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from './processes.js'
import { tool } from './tools.js'

/** A certificate with its key: PEM texts, and the files that have them. */
export interface CertificatePair {
  readonly certificate: string
  readonly key: string
  readonly certificateFile: string
  readonly keyFile: string
}

/** An authority, what it has signed, and an authority that has signed none of it. */
export interface Certificates {
  readonly authority: CertificatePair
  /** Good for localhost, 127.0.0.1 and ::1. */
  readonly server: CertificatePair
  /** By the authority too, but for another.test alone. */
  readonly elsewhere: CertificatePair
  readonly client: CertificatePair
  readonly wrongAuthority: CertificatePair
  /** A client's certificate by the wrong authority. */
  readonly wrongClient: CertificatePair
}

const LEAF = ['basicConstraints=critical,CA:FALSE', 'extendedKeyUsage=serverAuth,clientAuth']

/** Makes them with openssl, good for two days; the files go when this process ends. */
export async function makeCertificates(): Promise<Certificates> {
  const folder = temporaryFolder().path
  const make = (name: string, extensions: readonly string[], by?: CertificatePair) => certificate(folder, name, extensions, by)
  const asAuthority = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign,cRLSign']
  const [authority, wrongAuthority] = await Promise.all([make('authority', asAuthority), make('wrong-authority', asAuthority)])
  const [server, elsewhere, client, wrongClient] = await Promise.all([
    make('server', [...LEAF, 'subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1'], authority),
    make('elsewhere', [...LEAF, 'subjectAltName=DNS:another.test'], authority),
    make('client', LEAF, authority),
    make('wrong-client', LEAF, wrongAuthority)
  ])
  return { authority, server, elsewhere, client, wrongAuthority, wrongClient }
}

async function certificate(folder: string, name: string, extensions: readonly string[], by?: CertificatePair): Promise<CertificatePair> {
  const [certificateFile, keyFile] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)]
  const asked = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '2',
    '-subj',
    `/CN=${name}`
  ]
  const signed = by === undefined ? [] : ['-CA', by.certificateFile, '-CAkey', by.keyFile]
  // The configuration of the machine may add extensions of its own, and an extension that stands twice is refused.
  const added = ['-config', '/dev/null', ...extensions.flatMap((extension) => ['-addext', extension])]
  await promisify(execFile)(tool('openssl'), [...asked, ...signed, ...added, '-keyout', keyFile, '-out', certificateFile])
  return { certificateFile, keyFile, certificate: readFileSync(certificateFile, 'utf8'), key: readFileSync(keyFile, 'utf8') }
}
