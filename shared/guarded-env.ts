/**
 * The environment of a sandbox's first process is partly a tenant's. `LD_PRELOAD`, `NODE_OPTIONS` and their like would
 * control the daemon before its first line runs, so everything but the daemon's own variables travels packed: the host
 * packs with `guardEnvironment`, the daemon unpacks with `unguardEnvironment` for the processes it starts.
 */
const own = /^HUTCH_[A-Z0-9_]+$/
const prefix = 'HUTCH_GUARDED_ENV_'
const packed = /^HUTCH_GUARDED_ENV_(\d+)$/
/** The kernel refuses an environment string over 128 KiB (MAX_ARG_STRLEN), name included. */
const pieceBytes = 96 * 1024

/** What of an environment is not the daemon's own. */
const workloadVariables = (env: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !own.test(name)))

/** What a machine's daemon is told of its environment, in which its working directory has the last word. */
export const workloadEnvironment = (
  env: Readonly<Record<string, string>>,
  workdir: string,
): Record<string, string> => ({
  ...workloadVariables(env),
  WORKDIR: workdir,
})

/** The environment to start the daemon with: `HUTCH_*` in the open, all else in `HUTCH_GUARDED_ENV_0…n`. */
export const guardEnvironment = (env: Readonly<Record<string, string>>): Record<string, string> => {
  const open: Record<string, string> = {}
  const guarded: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (packed.test(name)) continue
    if (own.test(name)) open[name] = value
    else guarded[name] = value
  }
  const text = Buffer.from(JSON.stringify(guarded)).toString('base64')
  for (let at = 0; at < text.length; at += pieceBytes)
    open[`${prefix}${at / pieceBytes}`] = text.slice(at, at + pieceBytes)
  return open
}

/**
 * What the daemon's children get: the packed variables, over those of `env` that are not the daemon's own. An
 * environment that was never guarded (the daemon started by hand) comes back as it is.
 */
export const unguardEnvironment = (env: Readonly<Record<string, string | undefined>>): Record<string, string> => {
  const children: Record<string, string> = {}
  const pieces: string[] = []
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) continue
    const piece = packed.exec(name)
    if (piece) pieces[Number(piece[1])] = value
    else if (!own.test(name)) children[name] = value
  }
  if (pieces.length === 0) return children
  const guarded: unknown = JSON.parse(Buffer.from(pieces.join(''), 'base64').toString())
  for (const [name, value] of Object.entries(guarded as Record<string, unknown>))
    if (typeof value === 'string') children[name] = value
  return children
}

/** The daemon's own variables of an environment: `HUTCH_*`, what is packed left out. */
export const ownEnvironment = (env: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter(
      (pair): pair is [string, string] => pair[1] !== undefined && own.test(pair[0]) && !packed.test(pair[0]),
    ),
  )
