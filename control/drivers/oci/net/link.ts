/**
 * One network slot: a namespace whose `eth0` is one end of a veth pair. The pair is a /31, the host's end is the
 * gateway. A slot serves one machine and is then thrown away, because the daemon inside may have changed anything.
 *
 * Where machines have users of their own, the namespace belongs to a user namespace that was made with it: only then may
 * root inside, who is nobody outside, set up its links, firewall and sysctls.
 */
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { errno } from '../../../../shared/errors.ts'
import { run, tool } from '../command.ts'
import type { Names } from '../names.ts'
import { memberAt, nameNamespaces } from '../users/hold.ts'
import { idsOfSlot } from '../users/ranges.ts'
import { addressText, type Network } from '../../../base/config/ipv4.ts'

const linksDir = '/sys/class/net'
const namespacesDir = '/run/netns'

export interface Slot {
  readonly index: number
  readonly netns: string
  readonly interface: string
  readonly address: string
  readonly gateway: string
  /** The id of the box that root inside is; undefined where the namespace belongs to the box itself. */
  readonly firstId: number | undefined
}

export const interfaceOf = ({ interfacePrefix }: Names, index: number): string => `${interfacePrefix}${index}`

export const netnsOf = ({ netnsPrefix }: Names, index: number): string => `${netnsPrefix}${index}`

/** `firstId` of the instance, undefined where machines have no users of their own. */
export const slotAt = (names: Names, block: Network, index: number, firstId: number | undefined): Slot => ({
  index,
  firstId: firstId === undefined ? undefined : idsOfSlot(firstId, index),
  netns: netnsOf(names, index),
  interface: interfaceOf(names, index),
  gateway: addressText(block.base + index * 2),
  address: addressText(block.base + index * 2 + 1),
})

/** `place` is the slot's among those whose namespaces are made already; all of them are or none. */
const hostSide = ({ netns, interface: name, gateway, firstId }: Slot, place: number): string =>
  [
    firstId === undefined ? `netns add ${netns}` : `netns attach ${netns} ${memberAt(place)}`,
    `link add ${name} type veth peer name eth0 netns ${netns}`,
    `addr add ${gateway}/31 dev ${name}`,
  ].join('\n')

const makeHostSides = async (slots: readonly Slot[], signal?: AbortSignal): Promise<void> => {
  const step = 'network slots'
  const commands = `${slots.map(hostSide).join('\n')}\n`
  const ranges = slots.flatMap(({ firstId }) => firstId ?? [])
  if (ranges.length > 0) await nameNamespaces({ step, ranges, commands, signal })
  else await run({ step, file: tool('ip'), args: ['-batch', '-'], input: commands, signal })
}

/** Makes the slots: one process for the pairs of all, one that brings up both ends of all. */
export const makeLinks = async (slots: readonly Slot[], signal?: AbortSignal): Promise<void> => {
  await makeHostSides(slots, signal)
  await run({
    step: 'network ends',
    file: join(import.meta.dirname, 'build', 'finish-slots'),
    args: slots.flatMap(slot => [slot.interface, join(namespacesDir, slot.netns), slot.address, slot.gateway]),
    signal,
  })
}

const looks = 5

/**
 * Removes whatever of the slots exists. What a server that was killed had begun goes on for a while, be it to make some or to remove them:
 * of whatever is still there after a failure it is tried again.
 */
export const removeLinks = async (slots: readonly Slot[]): Promise<void> => {
  for (let left = looks; ; left--) {
    const lines = slots.flatMap(leftOf)
    if (lines.length === 0) return
    try {
      // `-force` goes on after a line that failed: the pair may vanish with its namespace between the look and the deed.
      const input = `${lines.join('\n')}\n`
      await run({ step: 'remove network', file: tool('ip'), args: ['-force', '-batch', '-'], input })
      return
    } catch (error) {
      if (left <= 1 && slots.some(slot => leftOf(slot).length > 0)) throw error
    }
  }
}

/** Asked by name: of a thousand machines' links the list is long. */
const leftOf = ({ interface: link, netns }: Slot): string[] => [
  ...(existsSync(`${linksDir}/${link}`) ? [`link del dev ${link}`] : []),
  ...(existsSync(`${namespacesDir}/${netns}`) ? [`netns del ${netns}`] : []),
]

const existing = async (): Promise<{ links: string[]; namespaces: string[] }> => {
  const list = (directory: string) =>
    readdir(directory).catch(error => {
      if (errno(error) === 'ENOENT') return [] as string[]
      throw error
    })
  return { links: await list(linksDir), namespaces: await list(namespacesDir) }
}

/** Numbers of the instance's slots of which anything exists on the box. */
export const existingSlots = async (names: Names): Promise<number[]> => {
  const { links, namespaces } = await existing()
  const numbers = new Set<number>()
  for (const [prefix, found] of [
    [names.interfacePrefix, links],
    [names.netnsPrefix, namespaces],
  ] as const)
    for (const name of found)
      if (name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
        numbers.add(Number(name.slice(prefix.length)))
  return [...numbers]
}
