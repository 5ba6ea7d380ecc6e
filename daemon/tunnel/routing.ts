/**
 * Routes of a tunnel. Those the sandbox had are copied to a table of our own before anything changes: answers of its
 * own addresses go by that table, and it is what is put back. So the kernel keeps the state, and a daemon that starts
 * in the middle can tidy up.
 */
import { readFile } from 'node:fs/promises'
import { errno, messageOf } from '../../shared/errors.ts'
import { networkText, type Family, type Network } from './address.ts'
import type { Tools } from './tools.ts'

export interface Way {
  readonly interface: string
  readonly peer: { readonly family: Family; readonly address: string }
  /** Networks that go through the tunnel. */
  readonly networks: readonly Network[]
  /** Families whose default route is the tunnel. */
  readonly defaults: readonly Family[]
}

export interface Routing {
  /** Leads traffic into a device that is up. */
  lead(way: Way): Promise<void>
  /** Removes default routes beside the tunnel's that somebody added, and puts its own back. True when there were any. */
  mend(way: Way): Promise<boolean>
  /** Puts everything back; fine when there is nothing to put back. */
  restore(): Promise<void>
}

/** Number of our table, mark of our routes (their `proto`), and where our rules stand, before the main table's. */
const [table, owner, priority] = [51_820, 182, 18_200]
const families: readonly Family[] = [4, 6]

/** `ip route` shows what has happened to a route behind what it is; only the latter can be given back. */
const asArguments = (line: string): string =>
  line
    .replace(/ (linkdown|dead|offload|rt_offload|trap|pervasive)\b/g, '')
    .replace(/ (expires|pref|error) \S+/g, '')
    .trim()

export const createRouting = (tools: Tools): Routing => {
  const ip = (family: Family, ...args: string[]) => tools.run('ip', ['-N', `-${family}`, ...args])
  const batch = async (family: Family, lines: readonly string[], force = false): Promise<void> => {
    if (lines.length === 0) return
    const flags = [`-${family}`, ...(force ? ['-force'] : []), '-batch', '-']
    await tools.run('ip', flags, `${lines.join('\n')}\n`)
  }
  const show = async (family: Family, ...args: string[]): Promise<string[]> => {
    try {
      return (await ip(family, ...args)).split('\n').map(asArguments).filter(Boolean)
    } catch (error) {
      // A table nobody has written to yet, or a kernel without this family.
      if (/FIB table does not exist|not supported/i.test(messageOf(error))) return []
      throw error
    }
  }
  /** The main table. */
  const routes = (family: Family) => show(family, 'route', 'show', 'table', '254')
  const isDefault = (line: string): boolean => line.startsWith('default ')

  /** Source addresses whose answers keep their way. */
  const addresses = async (family: Family, without: string): Promise<string[]> => {
    return (await show(family, '-o', 'address', 'show', 'scope', '0')).flatMap(line => {
      const [, device, address] = /^\d+:\s+(\S+)\s+inet6?\s+([^\s/]+)/.exec(line) ?? []
      return device && address && device !== without && device !== 'lo' ? [address] : []
    })
  }

  /** Copies what is there to our table; answers the default routes among it. */
  const keep = async (family: Family, way: Way): Promise<string[]> => {
    const all = (await routes(family)).filter(line => !line.includes(` dev ${way.interface}`))
    // Networks before what is reached through them.
    const ordered = [...all.filter(line => !isDefault(line)), ...all.filter(isDefault)]
    await batch(
      family,
      ordered.map(line => `route replace ${line} table ${table}`),
    )
    const from = await addresses(family, way.interface)
    await batch(
      family,
      from.map(address => `rule add priority ${priority} from ${address} lookup ${table}`),
    )
    return all.filter(isDefault)
  }

  const hostRoute = async ({ family, address }: Way['peer']): Promise<string | undefined> => {
    const [, rest] = /^\S+ ((?:via \S+ )?dev \S+)/.exec((await ip(family, 'route', 'get', address)).trim()) ?? []
    if (!rest) throw new Error(`there is no route to the peer ${address}`)
    return rest.includes(' lo')
      ? undefined
      : `route replace ${address}/${family === 4 ? 32 : 128} ${rest} proto ${owner}`
  }

  const tunnelDefault = (way: Way) => `route replace default dev ${way.interface} proto ${owner}`

  /** The lines that put everything of a family back. */
  const undoing = async (family: Family): Promise<string[]> => {
    const kept = await show(family, 'route', 'show', 'table', String(table))
    const ours = (await routes(family)).filter(line => line.includes(` proto ${owner}`))
    const rules = (await show(family, 'rule', 'show')).filter(line => line.startsWith(`${priority}:`))
    return [
      ...ours.map(line => `route del ${line}`),
      ...kept.filter(isDefault).map(line => `route replace ${line}`),
      ...rules.map(() => `rule del priority ${priority}`),
      ...(kept.length > 0 ? [`route flush table ${table}`] : []),
    ]
  }

  return {
    async lead(way) {
      const host = await hostRoute(way.peer)
      if (host) await batch(way.peer.family, [host])
      for (const family of families) {
        const own = way.networks.filter(network => network.family === family && network.prefix > 0)
        // Behind the sandbox's own networks where they are the same; the fence refuses what would go there.
        await batch(
          family,
          own.map(network => `route add ${networkText(network)} dev ${way.interface} proto ${owner} metric 1`),
        )
      }
      for (const family of way.defaults) {
        const had = await keep(family, way)
        await batch(family, [...had.map(line => `route del ${line}`), tunnelDefault(way)])
      }
    },
    async mend(way) {
      if (!way.defaults.includes(4) || (await onlyDefault(way.interface))) return false
      const foreign = (await routes(4)).filter(line => isDefault(line) && !line.includes(` dev ${way.interface} `))
      await batch(4, [...foreign.map(line => `route del ${line}`), tunnelDefault(way)])
      return true
    },
    async restore() {
      for (const family of families) {
        const lines = await undoing(family)
        try {
          await batch(family, lines, true)
        } catch (error) {
          // What vanishes with the device in between need not be removed any more, so the rest decides.
          if ((await undoing(family)).length > 0) throw error
        }
      }
    },
  }
}

/** Whether the only IPv4 default route is through `device`; read without starting a process, because it is asked every second. */
const onlyDefault = async (device: string): Promise<boolean> => {
  try {
    const rows = (await readFile('/proc/net/route', 'latin1'))
      .split('\n')
      .slice(1)
      .map(line => line.split('\t'))
    const found = rows.filter(row => row[1] === '00000000' && row[7] === '00000000').map(row => row[0])
    return found.length === 1 && found[0] === device
  } catch (error) {
    if (errno(error) === 'ENOENT') return true
    throw error
  }
}
