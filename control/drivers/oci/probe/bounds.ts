/** Probes of what bounds machines beside each other, and of what else a server that lacks it goes on without. */
import { messageOf } from '../../../../shared/errors.ts'
import { datagramDestination, type Place } from '../../../base/relay/datagram-destination.ts'
import { failureToBound, nextFor, type Bounded } from '../net/connections.ts'
import { lowLimits } from '../shared-limits.ts'
import type { Check } from './check.ts'

const bound = (what: Bounded, title: string, without: string): Check => ({
  required: false,
  title,
  next: `${nextFor(what)}; until then ${without}`,
  async run({ clock }) {
    const error = await failureToBound(what, clock)
    if (error) throw new Error(messageOf(error), { cause: error })
    return ''
  },
})

export const connectionBound = bound(
  'connections',
  'a limit of connections for each sandbox',
  'one sandbox can fill the table that all share, and nobody is reached any more',
)

export const datagramBound = bound(
  'datagrams',
  'a limit of datagrams for each sandbox with an outbound policy',
  'one sandbox that floods takes the time of the server',
)

/** Of the port that discards; nothing sends from it to itself. */
const nowhere: Place = { address: '127.0.0.1', port: 9 }

/** `ask` as the server asks for where a datagram was sent. */
export const datagramTable = (ask: typeof datagramDestination = datagramDestination): Check => ({
  required: false,
  title: "UDP of sandboxes with an outbound policy (the kernel's table of connections)",
  next: 'load the kernel module nf_conntrack_netlink; without it no UDP passes to allowed addresses',
  async run() {
    ask(nowhere, nowhere)
    return ''
  },
})

export const sharedTables: Check = {
  required: false,
  title: 'tables of the kernel that sandboxes share',
  next: 'raise them by hand, as said above: the server may not',
  async run() {
    const low = await lowLimits()
    if (low.length > 0) throw new Error(low.join('; '))
    return 'large enough, or raised when Hutch opens'
  },
}
