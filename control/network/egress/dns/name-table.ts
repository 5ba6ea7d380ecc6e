/**
 * The names one sandbox has asked for: their addresses while they are fresh, and for a while longer as pins. A connection may go to an
 * address only under a name it was given out for.
 */

/** What the resolver found for a name. */
export type Answer =
  | { readonly kind: 'found'; readonly addresses: readonly string[]; readonly ttlMs: number }
  /** There is no such name (`absent`), or it has no IPv4 address (`empty`). */
  | { readonly kind: 'absent' | 'empty'; readonly ttlMs: number }
  /** It has addresses, and all of them are closed. */
  | { readonly kind: 'closed'; readonly ttlMs: number }
  /** Its alias is a name that the policy forbids. */
  | { readonly kind: 'forbidden'; readonly name: string; readonly ttlMs: number }

interface Entry {
  readonly answer: Answer
  readonly freshUntil: number
  /** Until when connections may go to each address. */
  readonly pins: ReadonlyMap<string, number>
}

export interface NameTable {
  /** What is known about the name and fresh. */
  fresh(name: string): Answer | undefined
  keep(name: string, answer: Answer): void
  isPinned(name: string, address: string): boolean
  /** Names that the address was given out for. */
  namesOf(address: string): string[]
  /** Forgets what was found, keeps the pins: another policy may judge a name otherwise. */
  expireAll(): void
}

/** Programs keep addresses longer than they should. */
const pinnedForMs = 10 * 60_000
const maxNames = 2048
const maxPinsOfName = 64

const pinsOf = (before: Entry | undefined, answer: Answer, now: number): ReadonlyMap<string, number> => {
  const pins = new Map<string, number>()
  if (answer.kind === 'found')
    for (const address of answer.addresses) pins.set(address, now + answer.ttlMs + pinnedForMs)
  for (const [address, until] of before?.pins ?? [])
    if (pins.size < maxPinsOfName && until > now && !pins.has(address)) pins.set(address, until)
  return pins
}

export const createNameTable = (deps: { now: () => number }): NameTable => {
  const { now } = deps
  /** In the order of last use. */
  const entries = new Map<string, Entry>()
  const byAddress = new Map<string, Set<string>>()
  const link = (name: string, pins: ReadonlyMap<string, number>) => {
    for (const address of pins.keys()) {
      const names = byAddress.get(address) ?? new Set()
      byAddress.set(address, names.add(name))
    }
  }
  const unlink = (name: string, pins: ReadonlyMap<string, number>) => {
    for (const address of pins.keys()) {
      const names = byAddress.get(address)
      names?.delete(name)
      if (names?.size === 0) byAddress.delete(address)
    }
  }
  const isPinned = (name: string, address: string) => (entries.get(name)?.pins.get(address) ?? 0) > now()
  return {
    fresh(name) {
      const entry = entries.get(name)
      if (!entry || entry.freshUntil <= now()) return undefined
      entries.delete(name)
      entries.set(name, entry)
      return entry.answer
    },
    keep(name, answer) {
      const at = now()
      const before = entries.get(name)
      if (before) unlink(name, before.pins)
      entries.delete(name)
      const pins = pinsOf(before, answer, at)
      entries.set(name, { answer, freshUntil: at + answer.ttlMs, pins })
      link(name, pins)
      if (entries.size <= maxNames) return
      const [oldest, { pins: dropped }] = entries.entries().next().value as [string, Entry]
      entries.delete(oldest)
      unlink(oldest, dropped)
    },
    isPinned,
    namesOf: address => [...(byAddress.get(address) ?? [])].filter(name => isPinned(name, address)),
    expireAll() {
      for (const [name, entry] of entries) entries.set(name, { ...entry, freshUntil: 0 })
    },
  }
}
