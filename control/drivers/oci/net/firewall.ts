/**
 * The fences around all machines of an instance. No rule belongs to one machine: interfaces are matched by the
 * instance's prefix and sources by reverse path, so making or removing a machine changes nothing here.
 *
 *     raw PREROUTING   a packet whose source is not its slot's address                → dropped (reverse path)
 *     INPUT            more UDP than a machine that is held may send                  → dropped
 *     INPUT            to the host itself, but for answers and the allowed ports      → dropped
 *     FORWARD          from a machine that is held to a policy                        → dropped
 *     FORWARD          more connections than a machine may have                       → dropped
 *     FORWARD          to other machines, metadata, private networks, multicast       → dropped; other new ones pass
 *     FORWARD          from anywhere to a machine, but for answers                    → dropped
 *     nat PREROUTING   TCP, UDP and questions of names from a machine that is held    → the outbound proxy
 *     nat POSTROUTING  leaves under the host's address
 */
import { fail } from '../../../../shared/errors.ts'
import { command } from '../../../../shared/installation.ts'
import { run, tool } from '../command.ts'
import type { Names } from '../names.ts'
import { tooFast, tooMany } from './connections.ts'
import { networkText, type Network } from '../../../base/config/ipv4.ts'
import { admissions, heldLink, redirections, stop, type Outbound } from './outbound.ts'

export interface Fences {
  readonly names: Names
  readonly subnet: Network
  readonly block: Network
  /** TCP ports of the gateway address that machines may reach. */
  readonly hostPorts: readonly number[]
  /** Resolvers named in the machines' resolv.conf; reachable on port 53 though they be private. */
  readonly resolvers: readonly string[]
  /** Private networks that machines may reach all the same. */
  readonly allowed: readonly Network[]
  /** Connections of one machine to the outside; undefined where the kernel cannot count them. */
  readonly connections: number | undefined
  /** UDP that a machine that is held may send each second; undefined where the kernel cannot count it. */
  readonly datagrams: number | undefined
  /** Where machines that are held to a policy are sent; undefined where none can be. */
  readonly outbound: Pick<Outbound, 'address'> | undefined
}

const never = ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '240.0.0.0/4']
const privateNetworks = ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16']

type Jump = readonly [table: string, hook: string, rule: string]

const jumps = ({ chain, interfacePrefix }: Names): Jump[] => [
  ['raw', 'PREROUTING', `-i ${interfacePrefix}+ -j ${chain}`],
  ['filter', 'INPUT', `-i ${interfacePrefix}+ -j ${chain}-IN`],
  ['filter', 'FORWARD', `-i ${interfacePrefix}+ -j ${chain}`],
  ['filter', 'FORWARD', `-o ${interfacePrefix}+ -j ${chain}-TO`],
  ['nat', 'PREROUTING', `-i ${interfacePrefix}+ -j ${chain}-OUT`],
  ['nat', 'POSTROUTING', `-j ${chain}`],
]

const chains = ({ chain }: Names): readonly (readonly [string, string])[] => [
  ['raw', chain],
  ['filter', `${chain}-IN`],
  ['filter', chain],
  ['filter', `${chain}-TO`],
  ['nat', `${chain}-OUT`],
  ['nat', chain],
]

const answers = '-m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT'

const tooManyOf = (chain: string, connections: number | undefined): string[] =>
  connections === undefined ? [] : [`-A ${chain} ${tooMany(connections)} -j DROP`]

const rulesOf = (fences: Fences): Record<string, string[]> => {
  const { names, subnet, block, hostPorts, resolvers, allowed, connections, datagrams, outbound } = fences
  const { chain, interfacePrefix } = names
  const forward = (rest: string) => `-A ${chain} ${rest}`
  return {
    raw: [`-A ${chain} -m rpfilter --invert -j DROP`],
    filter: [
      ...(outbound && datagrams ? [`-A ${chain}-IN ${heldLink} ${tooFast(datagrams, chain)} -j DROP`] : []),
      `-A ${chain}-IN ${answers}`,
      ...(outbound ? [...tooManyOf(`${chain}-IN`, connections), ...admissions(`${chain}-IN`, outbound)] : []),
      ...hostPorts.map(port => `-A ${chain}-IN -d ${networkText(block)} -p tcp --dport ${port} -j ACCEPT`),
      `-A ${chain}-IN -j DROP`,
      // Between machines nothing passes, answers included: no new flow can have been opened.
      forward(`-d ${networkText(subnet)} -j DROP`),
      ...(outbound ? [stop(chain)] : []),
      forward(answers),
      ...tooManyOf(chain, connections),
      ...never.map(network => forward(`-d ${network} -j DROP`)),
      ...resolvers.flatMap(address =>
        ['udp', 'tcp'].map(protocol => forward(`-d ${address} -p ${protocol} --dport 53 -j ACCEPT`)),
      ),
      ...allowed.map(network => forward(`-d ${networkText(network)} -j ACCEPT`)),
      ...privateNetworks.map(network => forward(`-d ${network} -j DROP`)),
      forward('-j ACCEPT'),
      `-A ${chain}-TO ${answers}`,
      `-A ${chain}-TO -j DROP`,
    ],
    nat: [
      // A rule in any case: an empty chain would look like one that was flushed.
      ...(outbound ? redirections(`${chain}-OUT`, outbound) : [`-A ${chain}-OUT -j RETURN`]),
      `-A ${chain} -s ${networkText(block)} ! -o ${interfacePrefix}+ -j MASQUERADE`,
    ],
  }
}

/** Hooks of the instance as `iptables-save` prints them, per table. */
const present = async (): Promise<Map<string, string>> => {
  const tables = new Map<string, string>()
  const text = await run({ step: 'read firewall', file: tool('iptables-save'), args: [] })
  for (const part of text.split(/^\*/m).slice(1)) tables.set(part.slice(0, part.indexOf('\n')), part)
  return tables
}

/** How often a hook is there: two that mend at once can both put it. */
const jumpsLike = (tables: Map<string, string>, [table, hook, rule]: Jump): number =>
  (tables.get(table) ?? '').split('\n').filter(line => line === `-A ${hook} ${rule}`).length

const hasJump = (tables: Map<string, string>, jump: Jump): boolean => jumpsLike(tables, jump) > 0

const restore = async (step: string, tables: Record<string, string[]>): Promise<void> => {
  const input = Object.entries(tables)
    .filter(([, lines]) => lines.length > 0)
    .map(([table, lines]) => `*${table}\n${lines.join('\n')}\nCOMMIT\n`)
    .join('')
  if (!input) return
  try {
    await run({ step, file: tool('iptables-restore'), args: ['--noflush', '--wait', '10'], input })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const next = `nothing is started without its fences; run ${command('doctor')}`
    throw fail('driver_failed', { driver: 'oci', step, reason: `${reason}; ${next}` }, error)
  }
}

/** Puts up the fences, or mends what somebody flushed; each table changes in one step. Throws when it cannot. */
export const raiseFences = async (fences: Fences): Promise<void> => {
  const tables = await present()
  const rules = rulesOf(fences)
  const lines: Record<string, string[]> = {}
  for (const table of ['raw', 'filter', 'nat'])
    lines[table] = [
      // Naming a chain here empties it, in the same transaction that fills it again.
      ...chains(fences.names).flatMap(([where, chain]) => (where === table ? [`:${chain} - [0:0]`] : [])),
      ...(rules[table] ?? []),
      ...jumps(fences.names).flatMap(jump =>
        jump[0] === table && !hasJump(tables, jump) ? [`-I ${jump[1]} ${jump[2]}`] : [],
      ),
    ]
  await restore('firewall', lines)
}

/** True when every hook and chain of the instance is in place. */
export const fencesStand = async (names: Names): Promise<boolean> => {
  const tables = await present()
  return (
    jumps(names).every(jump => hasJump(tables, jump)) &&
    chains(names).every(([table, chain]) => (tables.get(table) ?? '').includes(`\n-A ${chain} `))
  )
}

/** Table lines that take down what stands of the instance's fences. */
const takingDown = async (names: Names): Promise<Record<string, string[]>> => {
  const tables = await present()
  const lines: Record<string, string[]> = {}
  for (const table of ['raw', 'filter', 'nat']) {
    const existing = chains(names).filter(
      ([where, chain]) => where === table && (tables.get(table) ?? '').includes(`\n:${chain} `),
    )
    lines[table] = [
      ...jumps(names).flatMap(jump =>
        jump[0] === table ? Array.from({ length: jumpsLike(tables, jump) }, () => `-D ${jump[1]} ${jump[2]}`) : [],
      ),
      ...existing.map(([, chain]) => `-F ${chain}`),
      ...existing.map(([, chain]) => `-X ${chain}`),
    ]
  }
  return lines
}

const looks = 5

/**
 * Takes down what stands of the instance's fences. Whoever else changes the box's firewall may take a part of it between the look and
 * the change, of which nothing is carried out then: what is left by then is looked at again.
 */
export const lowerFences = async (names: Names): Promise<void> => {
  for (let left = looks; ; left--)
    try {
      return await restore('remove firewall', await takingDown(names))
    } catch (error) {
      if (left === 1) throw error
    }
}
