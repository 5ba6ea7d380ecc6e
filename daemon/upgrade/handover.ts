/**
 * What a daemon gives to the one that takes its place: a document in a file in memory that outlives the exec, as do the
 * descriptors it names. It is in no directory, so no tenant can have written it; and it has no limit, as an environment has.
 */
import { closeSync, fstatSync, readSync, writeSync } from 'node:fs'
import { s } from '../../shared/schema.ts'
import { lastUpgrade } from '../../shared/wire/system.ts'
import { document, type Env } from '../config/read.ts'
import { keepOverExec, memoryFile } from '../native/descriptors/descriptors.ts'

const variable = 'HUTCH_HANDOVER'

const place = s.object({ fd: s.int(), inode: s.int() })
const shape = s.object({
  /** How the upgrade ended that this exec is part of. */
  lastUpgrade: s.optional(lastUpgrade),
  /** Changes of the live environment; null takes a variable away. */
  environment: s.record(s.string(), s.nullable(s.string())),
  /** Which of them the last reload brought. */
  reloaded: s.optional(s.array(s.string())),
  /** Writing ends of the standard inputs of processes, by process record. */
  pipes: s.array(s.object({ id: s.int(), fd: s.int(), inode: s.int() })),
  /** Pid of the command of `-c`, if it still runs. */
  command: s.optional(s.int()),
  terminals: s.array(
    s.object({
      sessionId: s.string(),
      /** The master side of its pseudo-terminal. */
      fd: s.int(),
      /** The shell; it is the same process if it started then. */
      pid: s.int(),
      startTicks: s.string(),
      /** Output for whoever attaches again, and whether older output was cut off. */
      kept: s.string(),
      cut: s.boolean(),
      /** First bytes of a character whose others were not read yet, in base64. */
      rest: s.string(),
      /** What was typed and did not fit into the terminal yet, in base64. */
      typed: s.string(),
    }),
  ),
  /** The socket that listens: who connects during the exec waits in its queue. */
  listener: s.optional(place),
  /** The daemon before; who cannot start becomes that one again. */
  back: s.optional(s.object({ command: s.array(s.string()).check(s.minLength(1)), upgradeCount: s.int() })),
})

export type Inherited = Readonly<s.output<typeof shape>>
export type InheritedTerminal = Inherited['terminals'][number]

export const nothingInherited: Inherited = Object.freeze({ environment: {}, pipes: [], terminals: [] })

const descriptorsOf = ({ pipes, terminals, listener }: Inherited): number[] => [
  ...[...pipes, ...terminals].map(({ fd }) => fd),
  ...(listener ? [listener.fd] : []),
]

const readAll = (fd: number, size: number): string => {
  const bytes = Buffer.alloc(size)
  let filled = 0
  for (let read = -1; read !== 0 && filled < size; filled += read)
    read = readSync(fd, bytes, filled, size - filled, filled)
  return bytes.toString('utf8', 0, filled)
}

/** What the environment names, if it is the very file of our predecessor. */
const read = (env: Env): Inherited | undefined => {
  const { fd, inode } = document(place, env[variable]) ?? { fd: -1, inode: -1 }
  if (fd < 3) return undefined
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile() || stat.ino !== inode) return undefined
    const text = readAll(fd, stat.size)
    closeSync(fd)
    return document(shape, text)
  } catch {
    // EBADF: the variable is older than this process.
    return undefined
  }
}

/** What the daemon before has left, once. Its descriptors outlive no other exec: a child would keep them open. */
export const receiveHandover = (env: Env): Inherited => {
  if (!env[variable]) return nothingInherited
  const found = read(env) ?? nothingInherited
  for (const fd of descriptorsOf(found)) keepOverExec(fd, false)
  return found
}

/** Makes `handover` outlive an exec; the returned variable tells where it is, and `keep` takes it back when the exec failed. */
export const sendHandover = (handover: Inherited): { env: Record<string, string>; keep: () => void } => {
  const fd = memoryFile()
  const bytes = Buffer.from(JSON.stringify(handover))
  for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written)
  const all = [fd, ...descriptorsOf(handover)]
  for (const one of all) keepOverExec(one, true)
  return {
    env: { [variable]: JSON.stringify({ fd, inode: fstatSync(fd).ino }) },
    keep() {
      for (const one of all) keepOverExec(one, false)
      closeSync(fd)
    },
  }
}

/** The variable, without a meaning: for programs that are to inherit nothing. */
export const noHandover: Record<string, string> = { [variable]: '' }
