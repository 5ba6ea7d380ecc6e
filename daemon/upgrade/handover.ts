/**
 * What a daemon hands to the one that replaces it: a document in a memory file that outlives the exec, as do the
 * descriptors it names. It is in no directory, so no tenant can have written it, and it has no size limit, as an
 * environment has.
 */
import { closeSync, fstatSync, readSync, writeSync } from 'node:fs'
import { s } from '../../shared/schema.ts'
import { bootDocument } from '../../shared/wire/host.ts'
import { lastUpgrade } from '../../shared/wire/system.ts'
import { document, type Env } from '../config/read.ts'
import { keepOverExec, memoryFile } from '../native/descriptors/descriptors.ts'

const variable = 'HUTCH_HANDOVER'

const place = s.object({ fd: s.int(), inode: s.int() })
const shape = s.object({
  /** What the host has given when the machine was started, as it is by now. */
  boot: s.optional(bootDocument),
  /** How the upgrade went that this exec is part of. */
  lastUpgrade: s.optional(lastUpgrade),
  /** Changes of the live environment; null removes a variable. */
  environment: s.record(s.string(), s.nullable(s.string())),
  /** Names of those that the last reload has set. */
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
      /** The shell; it is still that process if its start time is this. */
      pid: s.int(),
      startTicks: s.string(),
      /** Output to show when a client attaches again, and whether older output was cut off. */
      kept: s.string(),
      cut: s.boolean(),
      /** The first bytes of a character whose other bytes were not read yet, in base64. */
      rest: s.string(),
      /** Input that did not fit into the terminal yet, in base64. */
      typed: s.string(),
    }),
  ),
  /** The listening socket: clients that connect during the exec wait in its queue. */
  listener: s.optional(place),
  /** The same of the channel. */
  channel: s.optional(place),
  /** How to start the previous daemon again, when the new one cannot start. */
  back: s.optional(s.object({ command: s.array(s.string()).check(s.minLength(1)), upgradeCount: s.int() })),
})

export type Inherited = Readonly<s.output<typeof shape>>
export type InheritedTerminal = Inherited['terminals'][number]

export const nothingInherited: Inherited = Object.freeze({ environment: {}, pipes: [], terminals: [] })

const descriptorsOf = ({ pipes, terminals, listener, channel }: Inherited): number[] =>
  [...pipes, ...terminals, listener, channel].flatMap(place => (place ? [place.fd] : []))

const readAll = (fd: number, size: number): string => {
  const bytes = Buffer.alloc(size)
  let filled = 0
  for (let read = -1; read !== 0 && filled < size; filled += read)
    read = readSync(fd, bytes, filled, size - filled, filled)
  return bytes.toString('utf8', 0, filled)
}

/** The document that the environment names, if it is the file that our predecessor made. */
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
    // EBADF: the variable was inherited from another process.
    return undefined
  }
}

/**
 * What the previous daemon has left; call it once. Its descriptors are closed on the next exec: a child must not keep
 * them open.
 */
export const receiveHandover = (env: Env): Inherited => {
  if (!env[variable]) return nothingInherited
  const found = read(env) ?? nothingInherited
  for (const fd of descriptorsOf(found)) keepOverExec(fd, false)
  return found
}

/** The document in a memory file. */
export const writeHandover = (handover: Inherited): number => {
  const fd = memoryFile()
  const bytes = Buffer.from(JSON.stringify(handover))
  for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written)
  return fd
}

/** The variable for a program that has the memory file `file` as its descriptor `fd`. */
export const handoverAt = (file: number, fd: number): Record<string, string> => ({
  [variable]: JSON.stringify({ fd, inode: fstatSync(file).ino }),
})

/**
 * Lets `handover` outlive an exec. The returned variable says where it is; `keep` undoes it when the exec has failed.
 */
export const sendHandover = (handover: Inherited): { env: Record<string, string>; keep: () => void } => {
  const fd = writeHandover(handover)
  const all = [fd, ...descriptorsOf(handover)]
  for (const one of all) keepOverExec(one, true)
  return {
    env: handoverAt(fd, fd),
    keep() {
      for (const one of all) keepOverExec(one, false)
      closeSync(fd)
    },
  }
}

/** The variable for programs that are to inherit nothing. */
export const noHandover: Record<string, string> = { [variable]: '' }
