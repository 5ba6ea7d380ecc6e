/** TLS of the main listener: whose certificates, and what becomes of plain HTTP. */
import { s } from '../../../shared/schema.ts'
import { acmeFrom, acmeShape, type AcmeConfig } from './acme.ts'
import { integerOf, refuse, textOf, type Environment } from './values.ts'

export interface TlsConfig {
  /** PEM files of a certificate with its chain and of its key; '' for none. */
  readonly cert: string
  readonly key: string
  /** Directory with more of them; '' for none. */
  readonly dir: string
  /** Port that leads from plain HTTP to HTTPS; undefined for none. */
  readonly httpPort: number | undefined
  /** How long browsers are to remember that there is only HTTPS, in seconds; 0 says nothing of it. */
  readonly hstsSeconds: number
  /** Where further certificates come from. */
  readonly acme: AcmeConfig
}

const maxSeconds = 63_072_000
const ports = { min: 0, max: 65_535 }

/** The same from a program. */
export const tlsShape = s.strictObject({
  cert: s.string(),
  key: s.string(),
  dir: s.string(),
  httpPort: s.optional(s.int().check(s.minimum(ports.min), s.maximum(ports.max))),
  hstsSeconds: s.int().check(s.minimum(0), s.maximum(maxSeconds)),
  acme: acmeShape,
})

/** `path` makes a name of a file absolute. */
export const tlsFrom = (env: Environment, path: (name: string) => string): TlsConfig => {
  const file = (name: string): string => textOf(env, name) && path(name)
  const [cert, key, dir] = [file('HUTCH_TLS_CERT'), file('HUTCH_TLS_KEY'), file('HUTCH_TLS_DIR')]
  if (cert && !key) throw refuse('HUTCH_TLS_KEY', 'is needed beside HUTCH_TLS_CERT')
  if (key && !cert) throw refuse('HUTCH_TLS_CERT', 'is needed beside HUTCH_TLS_KEY')
  const acme = acmeFrom(env, path)
  const isOn = Boolean(cert || dir || acme.directory)
  for (const name of ['HUTCH_HTTP_PORT', 'HUTCH_HSTS_SECONDS'])
    if (!isOn && textOf(env, name))
      throw refuse(
        name,
        'means nothing without TLS: set HUTCH_TLS_CERT and HUTCH_TLS_KEY, HUTCH_TLS_DIR or HUTCH_ACME_DIRECTORY',
      )
  return {
    cert,
    key,
    dir,
    httpPort: textOf(env, 'HUTCH_HTTP_PORT')
      ? integerOf(env, 'HUTCH_HTTP_PORT', { fallback: 80, ...ports })
      : undefined,
    hstsSeconds: integerOf(env, 'HUTCH_HSTS_SECONDS', { fallback: 0, min: 0, max: maxSeconds }),
    acme,
  }
}

/** Whether the main listener speaks TLS. */
export const speaksTls = ({ cert, dir, acme }: TlsConfig): boolean => Boolean(cert || dir || acme.directory)
