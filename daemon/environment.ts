type Variables = Readonly<Record<string, string>>

/** The environment that processes, terminals and restarts inherit. It changes while the daemon runs. */
export interface Environment {
  get(name: string): string | undefined
  /** A copy to hand to a child. */
  all(): Record<string, string>
  set(name: string, value: string): void
  unset(name: string): void
  /** Replaces the variables `before` that it started with by `next`. What was changed since then stays as it is. */
  configure(next: Variables, before: Variables): { applied: number; removed: number }
  /** Sets every variable, and removes those that the last reload had set and this one does not. */
  reload(variables: Readonly<Record<string, string>>): { applied: number; removed: number }
  /** The difference from the start, with `null` for a removed variable: for the next daemon. */
  changes(): Record<string, string | null>
  /** Names of the variables that the last reload has set. */
  reloaded(): string[]
}

/**
 * An environment that starts as `start` with the `changes` of an earlier daemon; `fromReload` names those of its last
 * reload.
 */
export const createEnvironment = (
  start: Variables,
  changes: Readonly<Record<string, string | null>> = {},
  fromReload: readonly string[] = [],
): Environment => {
  let base: Variables = start
  const current = new Map(Object.entries(base))
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) current.delete(name)
    else current.set(name, value)
  }
  let reloaded = new Set(fromReload)
  return {
    get: name => current.get(name),
    all: () => Object.fromEntries(current),
    set: (name, value) => void current.set(name, value),
    unset: name => void current.delete(name),
    configure(next, before) {
      const isUnchanged = (name: string): boolean => current.get(name) === base[name]
      const gone = Object.keys(before).filter(name => !Object.hasOwn(next, name))
      for (const name of gone.filter(isUnchanged)) current.delete(name)
      for (const [name, value] of Object.entries(next)) if (isUnchanged(name)) current.set(name, value)
      const rest = Object.entries(base).filter(([name]) => !gone.includes(name))
      base = { ...Object.fromEntries(rest), ...next }
      return { applied: Object.keys(next).length, removed: gone.length }
    },
    reload(variables) {
      const names = new Set(Object.keys(variables))
      const gone = [...reloaded].filter(name => !names.has(name))
      for (const name of gone) current.delete(name)
      for (const [name, value] of Object.entries(variables)) current.set(name, value)
      reloaded = names
      return { applied: names.size, removed: gone.length }
    },
    changes() {
      const changes: Record<string, string | null> = {}
      for (const [name, value] of current) if (base[name] !== value) changes[name] = value
      for (const name of Object.keys(base)) if (!current.has(name)) changes[name] = null
      return changes
    },
    reloaded: () => [...reloaded],
  }
}
