/**
 * The host's certificate authority for connections that are opened. Its key is made on the first start and kept sealed; sandboxes
 * trust its certificate, which is all they ever see of it. Every leaf uses one key of its own that is never stored.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
  type KeyObject,
} from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { Clock } from '../../../../shared/clock.ts'
import {
  AsnConvert,
  authorityExtensions,
  Certificate,
  leafExtensions,
  nameOf,
  publicKeyInfo,
  signatureAlgorithm,
  TBSCertificate,
  Validity,
  Version,
} from './der.ts'

export interface AuthorityKeys {
  /** PEM. */
  readonly certificate: string
  /** PEM, PKCS #8. */
  readonly privateKey: string
}

export interface Authority {
  /** PEM: what sandboxes have to trust. */
  readonly certificate: string
  /** What a server shows for the host: a certificate for it and nothing else. */
  contextFor(host: string): SecureContext
}

const day = 24 * 60 * 60_000
const authorityDays = 3650
/** Clients refuse leaves of more than 398 days. */
const leafDays = 90
/** A machine's clock may be behind. */
const beforeMs = 2 * day
const maxLeaves = 1_000

const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey

const pem = (der: Buffer): string => new X509Certificate(der).toString()

interface Wanted {
  readonly subject: string
  readonly issuer: string
  readonly days: number
  readonly key: KeyObject
  readonly signer: KeyObject
  readonly extensions: TBSCertificate['extensions']
}

const issue = (now: number, wanted: Wanted): string => {
  const { subject, issuer, days, key, signer, extensions } = wanted
  const serial = randomBytes(16)
  // Positive and of full length, as RFC 5280 wants it.
  serial[0] = ((serial[0] as number) & 0x7f) | 0x40
  const body = new TBSCertificate({
    version: Version.v3,
    serialNumber: new Uint8Array(serial).buffer,
    signature: signatureAlgorithm(),
    issuer: nameOf(issuer),
    validity: new Validity({ notBefore: new Date(now - beforeMs), notAfter: new Date(now + days * day) }),
    subject: nameOf(subject),
    subjectPublicKeyInfo: publicKeyInfo(createPublicKey(key)),
    ...(extensions && { extensions }),
  })
  const signed = sign('sha256', Buffer.from(AsnConvert.serialize(body)), signer)
  const certificate = new Certificate({
    tbsCertificate: body,
    signatureAlgorithm: signatureAlgorithm(),
    signatureValue: new Uint8Array(signed).buffer,
  })
  return pem(Buffer.from(AsnConvert.serialize(certificate)))
}

/** A new authority called `name`. */
export const makeAuthorityKeys = (name: string, now: number): AuthorityKeys => {
  const key = newKey()
  const extensions = authorityExtensions(createPublicKey(key))
  const certificate = issue(now, { subject: name, issuer: name, days: authorityDays, key, signer: key, extensions })
  return { certificate, privateKey: key.export({ type: 'pkcs8', format: 'pem' }) as string }
}

/** Common names are short; the whole name stands in the alternative names. */
const shortName = (host: string): string => (host.length > 64 ? host.slice(-64) : host)

export const createAuthority = (keys: AuthorityKeys, deps: { clock: Clock }): Authority => {
  const { clock } = deps
  const signer = createPrivateKey(keys.privateKey)
  const issuer = new X509Certificate(keys.certificate).subject.replace(/^CN=/, '')
  // One key for all leaves: making one costs more than a certificate, and all of them live in this process only.
  const leafKey = newKey()
  const leafPem = leafKey.export({ type: 'pkcs8', format: 'pem' }) as string
  const contexts = new Map<string, { context: SecureContext; until: number }>()
  const make = (host: string): SecureContext => {
    const extensions = leafExtensions(host, createPublicKey(leafKey), createPublicKey(signer))
    const certificate = issue(clock.now(), {
      subject: shortName(host),
      issuer,
      days: leafDays,
      key: leafKey,
      signer,
      extensions,
    })
    return createSecureContext({ cert: certificate, key: leafPem, minVersion: 'TLSv1.2' })
  }
  return {
    certificate: keys.certificate,
    contextFor(host) {
      const now = clock.now()
      const found = contexts.get(host)
      contexts.delete(host)
      const kept = found && found.until > now ? found : { context: make(host), until: now + (leafDays / 2) * day }
      contexts.set(host, kept)
      if (contexts.size > maxLeaves) contexts.delete(contexts.keys().next().value as string)
      return kept.context
    },
  }
}
