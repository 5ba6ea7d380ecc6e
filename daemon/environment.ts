/** The environment that processes, terminals and restarts inherit. It changes while the daemon runs. */
export interface Environment {
  get(name: string): string | undefined
  /** A copy to hand to a child. */
  all(): Record<string, string>
  set(name: string, value: string): void
  unset(name: string): void
  /** Sets every variable, and removes those that the last reload had set and this one does not. */
  reload(variables: Readonly<Record<string, string>>): { applied: number; removed: number }
  /** The difference from the start, with `null` for a removed variable: for the next daemon. */
  changes(): Record<string, string | null>
  /** Names of the variables that the last reload has set. */
  reloaded(): string[]
}

/**
 * An environment that starts as `base` with the `changes` of an earlier daemon; `fromReload` names those of its last
 * reload.
 */
export const createEnvironment = (
  base: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string | null>> = {},
  fromReload: readonly string[] = [],
): Environment => {
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
