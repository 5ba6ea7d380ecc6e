/** Routes, rules and addresses by ip(8), one address family at a time. */
import { messageOf } from '../../shared/errors.ts'
import type { Family } from './address.ts'
import type { Tools } from './tools.ts'

/** `ip route` shows states of a route after the route itself; only the route can be used as input. */
const asArguments = (line: string): string =>
  line
    .replace(/ (linkdown|dead|offload|rt_offload|trap|pervasive)\b/g, '')
    .replace(/ (expires|pref|error) \S+/g, '')
    .trim()

export interface Ip {
  /** The lines of a `show` command, as arguments for ip; none for a table or a family that the kernel does not have. */
  show(family: Family, ...args: string[]): Promise<string[]>
  /** The output of `ip route get` for an address. */
  routeTo(family: Family, address: string): Promise<string>
  /** Runs the lines in one process; with `force` it continues after a line that fails, and throws at the end. */
  batch(family: Family, lines: readonly string[], force?: boolean): Promise<void>
}

export const createIp = (tools: Tools): Ip => {
  const ip = (family: Family, ...args: string[]) => tools.run('ip', ['-N', `-${family}`, ...args])
  return {
    async show(family, ...args) {
      try {
        return (await ip(family, ...args)).split('\n').map(asArguments).filter(Boolean)
      } catch (error) {
        if (/FIB table does not exist|not supported/i.test(messageOf(error))) return []
        throw error
      }
    },
    routeTo: async (family, address) => (await ip(family, 'route', 'get', address)).trim(),
    async batch(family, lines, force = false) {
      if (lines.length === 0) return
      const flags = [`-${family}`, ...(force ? ['-force'] : []), '-batch', '-']
      await tools.run('ip', flags, `${lines.join('\n')}\n`)
    },
  }
}
