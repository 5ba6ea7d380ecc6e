/** The small internet with an engine in the middle of it. */
import { createAuthority, makeAuthorityKeys, type Authority } from '../../../control/network/egress/ca/authority.ts'
import { createEgress } from '../../../control/network/egress/create.ts'
import type { Egress, EgressDeps, EgressOptions } from '../../../control/network/egress/egress.ts'
import { systemClock, type Clock } from '../../../shared/clock.ts'
import { randomIds } from '../../../shared/ids.ts'
import type { Log as ProgramLog } from '../../../shared/log.ts'
import { parseWireNames, wireNames } from '../../../shared/wire-names.ts'
import { startNames, type Names } from './names.ts'
import { addresses, buildNetwork, redirect } from './network.ts'
import { createSandbox, type Sandbox } from './sandbox.ts'
import { createLog, startServers, type Log, type Reached } from './servers.ts'

export interface Internet {
  readonly egress: Egress
  readonly sandbox: Sandbox
  readonly neighbour: Sandbox
  readonly names: Names
  readonly log: Log
  /** PEM of the authority that the servers' certificates are of. */
  readonly worldCa: string
  /** Signs certificates for further servers. */
  readonly world: Authority
  /** What reached any server that holds the text, or was asked by that name. */
  reached(text: string): Reached[]
  /** Errors the engine logged: there should be none. */
  readonly errors: { event: string; fields: object | undefined }[]
  close(): Promise<void>
}

const errorLog = (errors: Internet['errors']): ProgramLog => {
  const log: ProgramLog = {
    debug() {},
    info() {},
    warn() {},
    error: (event, fields) => void errors.push({ event, fields }),
    with: () => log,
  }
  return log
}

/** To be called in a network namespace of its own. */
export const startInternet = async (
  options: Partial<EgressOptions> = {},
  clock: Clock = systemClock(),
  more: Pick<EgressDeps, 'neighbours' | 'lastNet'> = {},
): Promise<Internet> => {
  buildNetwork()
  const log = createLog()
  const errors: Internet['errors'] = []
  const worldKeys = makeAuthorityKeys('World', Date.now())
  const world = createAuthority(worldKeys, { clock })
  const servers = await startServers(log, world)
  const names = await startNames(log)
  const egress = await createEgress(
    {
      host: addresses.engine,
      ports: { proxy: 0, transparent: 0, dns: 0, datagrams: 0 },
      authority: makeAuthorityKeys('Hutch', Date.now()),
      extraCa: worldKeys.certificate,
      allowNetworks: [],
      dnsServers: [{ host: addresses.dns, port: 53 }],
      ...options,
    },
    {
      clock,
      ids: randomIds(),
      log: errorLog(errors),
      wireNames: wireNames(parseWireNames(undefined, 'wireNames')),
      sandboxOf: ({ remoteAddress }) =>
        ({ [addresses.sandbox]: 'sandbox', [addresses.neighbour]: 'neighbour' })[remoteAddress ?? ''],
      ownAddresses: () => new Set([addresses.host, addresses.engine, addresses.dns]),
      ...more,
    },
  )
  redirect(egress.ports)
  return {
    egress,
    sandbox: createSandbox(addresses.sandbox, egress.ports),
    neighbour: createSandbox(addresses.neighbour, egress.ports),
    names,
    log,
    worldCa: worldKeys.certificate,
    world,
    reached: text => log.entries.filter(one => one.host.includes(text) || one.text.includes(text)),
    errors,
    async close() {
      await egress.close()
      servers.close()
      names.close()
    },
  }
}
