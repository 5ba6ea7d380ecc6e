/**
 * Routes of a tunnel. Before anything changes, the sandbox's routes are copied to a table of our own: answers from the
 * sandbox's own addresses use that table, and `restore` puts it back. All state is in the kernel, so that a daemon that
 * starts while a tunnel exists can undo it.
 */
import { networkText, type Family, type Network } from './address.ts'
import { isOnlyDefault } from './default-route.ts'
import { createIp, type Ip } from './ip.ts'
import type { Tools } from './tools.ts'

export interface RoutePlan {
  readonly interface: string
  readonly peer: { readonly family: Family; readonly address: string }
  /** Networks that go through the tunnel. */
  readonly networks: readonly Network[]
  /** Families whose default route is the tunnel. */
  readonly defaults: readonly Family[]
}

export interface Routing {
  /** Routes traffic into a device that is up. */
  install(plan: RoutePlan): Promise<void>
  /**
   * Removes default routes that were added beside the tunnel's, and restores the tunnel's own. True when there were
   * any.
   */
  repair(plan: RoutePlan): Promise<boolean>
  /** Restores the sandbox's own routes; does nothing when they are in place. */
  restore(): Promise<void>
}

/**
 * The number of our table, the `proto` of our routes, and the priority of our rules, which come before the main
 * table's.
 */
const [table, owner, priority] = [51_820, 182, 18_200]
const families: readonly Family[] = [4, 6]

const mainTable = (ip: Ip, family: Family) => ip.show(family, 'route', 'show', 'table', '254')
const isDefault = (line: string): boolean => line.startsWith('default ')
const tunnelDefault = (plan: RoutePlan) => `route replace default dev ${plan.interface} proto ${owner}`

/** Source addresses whose answers use the original routes. */
const addressesWithout = async (ip: Ip, family: Family, without: string): Promise<string[]> =>
  (await ip.show(family, '-o', 'address', 'show', 'scope', '0')).flatMap(line => {
    const [, device, address] = /^\d+:\s+(\S+)\s+inet6?\s+([^\s/]+)/.exec(line) ?? []
    return device && address && device !== without && device !== 'lo' ? [address] : []
  })

/** Copies the main table to ours; returns its default routes. */
const saveRoutes = async (ip: Ip, family: Family, plan: RoutePlan): Promise<string[]> => {
  const all = (await mainTable(ip, family)).filter(line => !line.includes(` dev ${plan.interface}`))
  // Networks first, then the routes that use them.
  const ordered = [...all.filter(line => !isDefault(line)), ...all.filter(isDefault)]
  await ip.batch(
    family,
    ordered.map(line => `route replace ${line} table ${table}`),
  )
  const from = await addressesWithout(ip, family, plan.interface)
  await ip.batch(
    family,
    from.map(address => `rule add priority ${priority} from ${address} lookup ${table}`),
  )
  return all.filter(isDefault)
}

/** The line that keeps the peer reachable outside of the tunnel; undefined for a peer on this machine. */
const peerRoute = async (ip: Ip, { family, address }: RoutePlan['peer']): Promise<string | undefined> => {
  const [, rest] = /^\S+ ((?:via \S+ )?dev \S+)/.exec(await ip.routeTo(family, address)) ?? []
  if (!rest) throw new Error(`there is no route to the peer ${address}`)
  return rest.includes(' lo') ? undefined : `route replace ${address}/${family === 4 ? 32 : 128} ${rest} proto ${owner}`
}

const install = async (ip: Ip, plan: RoutePlan): Promise<void> => {
  const host = await peerRoute(ip, plan.peer)
  if (host) await ip.batch(plan.peer.family, [host])
  for (const family of families) {
    const own = plan.networks.filter(network => network.family === family && network.prefix > 0)
    // By their metric they come after equal networks of the sandbox itself; the firewall refuses traffic to those.
    await ip.batch(
      family,
      own.map(network => `route add ${networkText(network)} dev ${plan.interface} proto ${owner} metric 1`),
    )
  }
  for (const family of plan.defaults) {
    const before = await saveRoutes(ip, family, plan)
    await ip.batch(family, [...before.map(line => `route del ${line}`), tunnelDefault(plan)])
  }
}

const repair = async (ip: Ip, plan: RoutePlan): Promise<boolean> => {
  if (!plan.defaults.includes(4) || (await isOnlyDefault(plan.interface))) return false
  const foreign = (await mainTable(ip, 4)).filter(line => isDefault(line) && !line.includes(` dev ${plan.interface} `))
  await ip.batch(4, [...foreign.map(line => `route del ${line}`), tunnelDefault(plan)])
  return true
}

/** The lines that restore everything of a family. */
const undoLines = async (ip: Ip, family: Family): Promise<string[]> => {
  const saved = await ip.show(family, 'route', 'show', 'table', String(table))
  const ours = (await mainTable(ip, family)).filter(line => line.includes(` proto ${owner}`))
  const rules = (await ip.show(family, 'rule', 'show')).filter(line => line.startsWith(`${priority}:`))
  return [
    ...ours.map(line => `route del ${line}`),
    ...saved.filter(isDefault).map(line => `route replace ${line}`),
    ...rules.map(() => `rule del priority ${priority}`),
    ...(saved.length > 0 ? [`route flush table ${table}`] : []),
  ]
}

const restore = async (ip: Ip): Promise<void> => {
  for (const family of families) {
    const lines = await undoLines(ip, family)
    try {
      await ip.batch(family, lines, true)
    } catch (error) {
      // Routes that disappeared with their device need not be removed; it is enough that nothing is left to undo.
      if ((await undoLines(ip, family)).length > 0) throw error
    }
  }
}

export const createRouting = (tools: Tools): Routing => {
  const ip = createIp(tools)
  return {
    install: plan => install(ip, plan),
    repair: plan => repair(ip, plan),
    restore: () => restore(ip),
  }
}
