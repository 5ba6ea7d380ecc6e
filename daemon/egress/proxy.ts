/** Starts the local proxy and points the sandbox's programs to it. */
import { messageOf } from '../../shared/errors.ts'
import { readRegularFile } from '../config/read-regular-file.ts'
import type { Core } from '../core.ts'
import { createSeal } from '../own-files/seal.ts'
import { listenOnLoopback } from './loopback.ts'
import { createShimServer } from './shim.ts'
import { loadState, saveState, type ShimState } from './state.ts'
import { directivesIn, parseTemplate, proxyVariables, withLoopback, type Upstream } from './template.ts'
import { createTokenReader } from './token.ts'
import type { ProxyDeps } from './upstream.ts'

const refreshMs = 30_000

/**
 * Variables with a directive. One that a replaced daemon has pointed to its local proxy counts with its original value.
 */
const templatesIn = ({ config, environment, log }: Core): Record<string, string> => {
  const found: Record<string, string> = {}
  for (const name of proxyVariables) {
    const now = environment.get(name) ?? ''
    const value = now === addressOf(config.localProxyPort) ? (config.environment[name] ?? '') : now
    if (directivesIn(value) === 0) continue
    if (parseTemplate(value)) found[name] = value
    else
      log.warn('egress.proxy-ignored', { name, next: 'one {{file(…)}} as the user or password of an http(s) address' })
  }
  return found
}

const addressOf = (port: number): string => `http://localhost:${port}`

/** Without a local proxy the token itself has to be in the variables. */
const fallBack = (templates: ShimState['templates'], { environment, clock, log, closing }: Core): void => {
  log.error('egress.no-shim', { next: 'the tokens are put into the environment, and read again every 30 s' })
  const parsed = Object.entries(templates).map(([name, value]) => {
    const upstream = parseTemplate(value) as Upstream
    return { name, upstream, token: createTokenReader(upstream.tokenPath, { clock, log }) }
  })
  const refresh = () => {
    for (const { name, upstream, token } of parsed) {
      try {
        environment.set(name, upstream.resolved(token.again()))
      } catch (error) {
        log.error('egress.no-token', { name, reason: messageOf(error) })
      }
    }
  }
  refresh()
  closing.add('egress refresh', clock.every(refreshMs, refresh))
}

/** Reads the certificates that the sandbox's programs trust. */
const trusted =
  ({ environment }: Core) =>
  () => {
    const path = environment.get('SSL_CERT_FILE')
    if (!path) return undefined
    try {
      return readRegularFile(path).toString('utf8')
    } catch {
      // Without the file Node's own certificates count.
      return undefined
    }
  }

/**
 * Uses the directives in the variables, or those that an earlier daemon has saved; does nothing when there are none.
 */
export const startProxy = async (core: Core): Promise<void> => {
  const { config, environment, hostConfiguration, clock, log, closing } = core
  const seal = createSeal(hostConfiguration.document()?.machine.seal, 'proxy')
  const given = templatesIn(core)
  const state: ShimState | undefined =
    Object.keys(given).length > 0
      ? { port: config.localProxyPort, templates: given }
      : loadState(config.proxyStateFile, seal)
  const upstreams = Object.values(state?.templates ?? {}).map(parseTemplate)
  const [upstream] = upstreams.filter(one => one !== undefined)
  if (!state || !upstream) return
  if (upstreams.some(other => other?.host !== upstream.host || other.port !== upstream.port))
    log.warn('egress.proxies-differ', { used: upstream.host, next: 'give all variables the same proxy' })
  const deps: ProxyDeps = {
    upstream,
    token: createTokenReader(upstream.tokenPath, { clock, log }),
    clock,
    log,
    ca: trusted(core),
  }
  const { port, servers } = await listenOnLoopback(() => createShimServer(deps), state.port, core)
  for (const name of ['NO_PROXY', 'no_proxy']) environment.set(name, withLoopback(environment.get(name)))
  if (servers.length === 0) return fallBack(state.templates, core)
  closing.add('egress', () => {
    for (const server of servers) {
      server.close()
      server.closeAllConnections()
    }
  })
  for (const name of Object.keys(state.templates)) environment.set(name, addressOf(port))
  try {
    saveState(config.proxyStateFile, { ...state, port }, seal)
  } catch (error) {
    log.warn('egress.not-saved', { path: config.proxyStateFile, reason: messageOf(error) })
  }
  log.info('egress.shim', { port, proxy: `${upstream.host}:${upstream.port}` })
}
