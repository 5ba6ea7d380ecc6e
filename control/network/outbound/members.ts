/** Who is in a network with whom. Members of the same one reach each other by name and address, all others do not. */
import type { Neighbour, Neighbours } from '../egress/neighbours.ts'
import type { Address, Resource } from '../../core/store/store.ts'

type Member = Pick<Resource, 'uid' | 'kind' | 'name'>

/** Wakes a machine of the record and keeps it awake until the returned function is called. */
export type Wake = (record: Member, signal: AbortSignal) => Promise<() => void>

export interface Members {
  readonly neighbours: Neighbours
  /** The record is in that network, or in none. */
  join(record: Member, network: string | undefined): void
  leave(uid: string): void
  /** Where that machine of the record is; undefined while it cannot be reached. */
  place(uid: string, machine: string, address: Address | undefined): void
  /** Who wakes machines: there is nobody before the machines are looked after. */
  wakeBy(wake: Wake): void
}

interface Joined {
  readonly record: Member
  readonly network: string
}

interface Place {
  readonly machine: string
  readonly address: Address
}

/** `web` may also be called `web.internal`. */
const bare = (host: string): string => host.replace(/\.internal$/, '')
const nameKey = (network: string, name: string): string => `${network}/${name}`

const noWake: Wake = () => Promise.reject(new Error('nobody wakes machines yet'))

export const createMembers = (): Members => {
  const joined = new Map<string, Joined>()
  const byName = new Map<string, string>()
  const places = new Map<string, Place>()
  const byAddress = new Map<string, string>()
  let wake = noWake
  const leave = (uid: string): void => {
    const was = joined.get(uid)
    if (!was) return
    joined.delete(uid)
    const key = nameKey(was.network, was.record.name)
    if (byName.get(key) === uid) byName.delete(key)
  }
  const neighbourAt = (uid: string, network: string): Neighbour | undefined => {
    const other = joined.get(uid)
    const place = places.get(uid)
    if (!place || other?.network !== network) return undefined
    const { host, port, channel } = place.address
    const closedPorts = [port, ...(channel ? [channel.port] : [])]
    const { name } = other.record
    return {
      uid,
      names: [name, `${name}.internal`, host],
      address: host,
      closedPorts,
      hold: signal => wake(other.record, signal),
    }
  }
  const find = (sandbox: string, host: string): Neighbour | undefined => {
    const me = joined.get(sandbox)
    if (!me) return undefined
    const uid = byName.get(nameKey(me.network, bare(host))) ?? byAddress.get(host)
    return uid === undefined || uid === sandbox ? undefined : neighbourAt(uid, me.network)
  }
  return {
    neighbours: { find },
    join(record, network) {
      leave(record.uid)
      if (network === undefined) return
      joined.set(record.uid, { record, network })
      byName.set(nameKey(network, record.name), record.uid)
    },
    leave,
    place(uid, machine, address) {
      const before = places.get(uid)
      // One that goes after another has come takes nothing of it along.
      if (!address && before?.machine !== machine) return
      if (before && byAddress.get(before.address.host) === uid) byAddress.delete(before.address.host)
      places.delete(uid)
      if (!address) return
      places.set(uid, { machine, address })
      byAddress.set(address.host, uid)
    },
    wakeBy: given => void (wake = given),
  }
}
