/** The flows of UDP that one sandbox has: by where they come from, bounded in number, forgotten when nothing comes any more. */
import { createRate, type Rate } from '../rate.ts'
import type { Flow } from './flow.ts'

export interface Datagrams {
  /** Datagrams both ways. */
  readonly rate: Rate
  /** Flows that are looked at. */
  readonly looks: Rate
  /** Events about what is refused: who sends in vain sends often. */
  readonly told: Rate
  get(sender: string): Flow | undefined
  /** Puts it in the place of an older one. Of too many the one that was longest idle ends. */
  set(sender: string, flow: Flow): void
  /** Forgets it, if it is still the one. */
  forget(sender: string, flow: Flow): void
  /** Ends those in which nothing has come for long. */
  sweep(): void
}

const most = 64
/** As the kernel's table of connections has it (nf_conntrack_udp_timeout, …_stream): an answer that comes later finds no way back. */
const idleMs = { unanswered: 30_000, answered: 120_000 } as const

export const createDatagrams = (deps: { now: () => number }): Datagrams => {
  const { now } = deps
  const flows = new Map<string, Flow>()
  const endIdlest = (): void => {
    let idlest: Flow | undefined
    for (const flow of flows.values()) if (!idlest || flow.usedAt < idlest.usedAt) idlest = flow
    idlest?.end()
  }
  return {
    rate: createRate(deps, 20_000, 20_000),
    looks: createRate(deps, 500, 500),
    told: createRate(deps, 20, 1),
    get: sender => flows.get(sender),
    set(sender, flow) {
      flows.get(sender)?.end()
      if (flows.size >= most) endIdlest()
      flows.set(sender, flow)
    },
    forget(sender, flow) {
      if (flows.get(sender) === flow) flows.delete(sender)
    },
    sweep() {
      for (const flow of flows.values())
        if (now() - flow.usedAt > (flow.answered ? idleMs.answered : idleMs.unanswered)) flow.end()
    },
  }
}
