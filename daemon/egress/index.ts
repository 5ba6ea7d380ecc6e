import { existsSync } from 'node:fs'
import { messageOf } from '../../shared/errors.ts'
import type { Core } from '../core.ts'

const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy']

/** Loads what writes the certificates that an environment names and points programs to them. */
export const loadCertificates = async (parts: Pick<Core, 'config' | 'environment' | 'log'>) => {
  const { installCertificates } = await import('./certificates.ts')
  return (given: Readonly<Record<string, string>>): void => installCertificates(given, parts)
}

/**
 * Sets up the proxy and the certificates of the sandbox before any tenant process starts; few sandboxes have them. A
 * failure is logged.
 */
export const beginEgress = async (core: Core): Promise<void> => {
  const { config, log } = core
  if (config.rehearsal) return
  const asked = names.some(
    name => config.environment[name]?.includes('{{file(') || core.environment.get(name)?.includes('{{file('),
  )
  try {
    if (asked || existsSync(config.proxyStateFile)) await (await import('./proxy.ts')).startProxy(core)
    if (config.extraCaCerts !== '') (await loadCertificates(core))(config.environment)
  } catch (error) {
    log.error('egress.failed', { reason: messageOf(error) })
  }
}
