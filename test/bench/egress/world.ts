/** An authority and a server's certificate, made with openssl once. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const issueServer = (name: string): { ca: string; certificate: string; key: string } => {
  const dir = mkdtempSync(join(tmpdir(), 'hutch-bench-world-'))
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: dir, stdio: 'ignore' })
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  try {
    openssl('req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=World')
    openssl('req', ...newKey, '-keyout', 'key.pem', '-out', 'csr', '-subj', `/CN=${name}`)
    execFileSync('sh', ['-c', `printf 'subjectAltName=DNS:${name},IP:127.0.0.1' > ext`], { cwd: dir })
    openssl(
      'x509',
      '-req',
      '-in',
      'csr',
      '-CA',
      'ca.pem',
      '-CAkey',
      'ca.key',
      '-CAcreateserial',
      '-days',
      '2',
      '-extfile',
      'ext',
      '-out',
      'cert.pem',
    )
    const read = (file: string) => readFileSync(join(dir, file), 'utf8')
    return { ca: read('ca.pem'), certificate: read('cert.pem'), key: read('key.pem') }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
