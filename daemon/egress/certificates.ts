/** Certificates that the platform adds: variables point every program of the sandbox to a bundle with them. */
import { errno, messageOf } from '../../shared/errors.ts'
import { readRegularFile } from '../config/read-regular-file.ts'
import type { Core } from '../core.ts'
import { replaceFile } from '../own-files/own-files.ts'
import { javaOptions, trustStoreOf } from './java.ts'

const systemBundle = '/etc/ssl/certs/ca-certificates.crt'

const systemCertificates = (path: string): Buffer => {
  try {
    return readRegularFile(path)
  } catch (error) {
    if (errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR') return Buffer.alloc(0)
    throw error
  }
}

/**
 * Writes the merged bundle, the same for Java, and sets the variables. `given` is the environment that names the file, without what
 * daemons have changed in it. A file that cannot be used is logged, and nothing changes.
 */
export const installCertificates = (
  given: Readonly<Record<string, string>>,
  { config, environment, log }: Pick<Core, 'config' | 'environment' | 'log'>,
): void => {
  const { mergedCaPath: merged } = config
  const trustStore = `${merged}.jks`
  const extra = given['SANDBOX_EXTRA_CA_CERTS'] ?? ''
  try {
    const added = readRegularFile(extra)
    if (!added.includes('-----BEGIN ')) throw new Error('it holds no certificate in PEM form')
    const start = given['SSL_CERT_FILE'] || systemBundle
    const system = systemCertificates(start)
    const gap = system.length > 0 && system.at(-1) !== 0x0a ? '\n' : ''
    const all = Buffer.concat([system, Buffer.from(gap), added])
    replaceFile(merged, all, 0o644)
    replaceFile(trustStore, trustStoreOf(all.toString('latin1')), 0o644)
  } catch (error) {
    log.error('egress.certificates-failed', { path: extra, reason: messageOf(error) })
    return
  }
  for (const name of ['SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE']) environment.set(name, merged)
  environment.set('NODE_EXTRA_CA_CERTS', extra)
  environment.set(
    'JAVA_TOOL_OPTIONS',
    javaOptions({ ...environment.all(), JAVA_TOOL_OPTIONS: given['JAVA_TOOL_OPTIONS'] }, trustStore),
  )
  log.info('egress.certificates-added', { path: extra, bundle: merged })
}
