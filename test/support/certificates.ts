/** An authority of a test's own, and certificates that it has signed. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'

const openssl = (args: readonly string[]) => execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] })
const fresh = ['req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

export interface TestAuthority {
  /** PEM. */
  readonly ca: string
  /** Writes `{stem}.crt` and `{stem}.key`, good for the names. */
  sign(stem: string, names: readonly string[]): { readonly cert: string; readonly key: string }
}

/** In the directory, which exists. */
export const testAuthority = (dir: string): TestAuthority => {
  const at = (name: string) => join(dir, name)
  const [ca, caKey] = [at('ca.pem'), at('ca-key.pem')]
  openssl([...fresh, '-x509', '-days', '2', '-subj', '/CN=Tests', '-keyout', caKey, '-out', ca])
  return {
    ca: readFileSync(ca, 'utf8'),
    sign(stem, names) {
      const [cert, key, request, more] = [`${stem}.crt`, `${stem}.key`, at('request.pem'), at('more.cnf')]
      writeFileSync(more, `subjectAltName=${names.map(name => `${isIP(name) ? 'IP' : 'DNS'}:${name}`).join(',')}\n`)
      openssl([...fresh, '-subj', '/CN=test', '-keyout', key, '-out', request])
      const sign = ['x509', '-req', '-days', '2', '-CA', ca, '-CAkey', caKey, '-CAcreateserial', '-extfile', more]
      openssl([...sign, '-in', request, '-out', cert])
      return { cert, key }
    },
  }
}
