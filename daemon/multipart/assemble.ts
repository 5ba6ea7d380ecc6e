/** Assembles the listed parts, by a rename where that is possible, else by copying each once. */
import { constants } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errno, fail } from '../../shared/errors.ts'
import type { Ids } from '../../shared/ids.ts'
import { copyFd } from '../filesystem/descriptor.ts'
import type { FilePort } from '../filesystem/port.ts'
import { targetOf, type Target } from '../filesystem/whole/target.ts'
import type { WholeFiles } from '../filesystem/whole/whole.ts'
import { dataName, type Part } from './layout.ts'
import type { Upload } from './uploads.ts'

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } = constants

interface AssembleDeps {
  readonly port: FilePort
  readonly whole: WholeFiles
  readonly ids: Ids
}

/** The parts in the order of their numbers. Throws `operation_failed` for one never sent or another content. */
export const chosenParts = (upload: Upload, listed: readonly { partNumber: number; etag: string }[]): Part[] =>
  [...listed]
    .sort((a, b) => a.partNumber - b.partNumber)
    .map(({ partNumber, etag }) => {
      const part = upload.parts.get(partNumber)
      if (!part) throw fail('operation_failed', { reason: `part ${partNumber} was never uploaded` })
      if (part.etag !== etag)
        throw fail('operation_failed', { reason: `part ${partNumber} has the etag ${part.etag}, not ${etag}` })
      return part
    })

const copyPart = async (upload: Upload, part: Part, to: { fd: number; at: number }): Promise<void> => {
  const file = await open(join(upload.dir, part.inSlot ? dataName : part.name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const at = part.inSlot ? (part.number - 1) * (upload.header.stride ?? 0) : 0
    await copyFd({ fd: file.fd, at }, to, part.size)
  } finally {
    await file.close()
  }
}

/** True when `data` with every part in its place is the finished file. */
const fitsInPlace = (upload: Upload, parts: readonly Part[]): boolean => {
  const { stride } = upload.header
  const last = parts.length - 1
  const regular = parts.every(
    (part, index) => part.number === index + 1 && (index === last ? part.size <= (stride ?? 0) : part.size === stride),
  )
  const beyond = [...upload.parts.values()].some(part => part.inSlot && part.number > parts.length)
  // A part that is still being written would write into the finished file.
  return regular && !beyond && upload.inFlight.size === 0
}

/** What the umask leaves of `mode`, found out by making a file. */
const masked = async (dir: string, mode: number, ids: Ids): Promise<number> => {
  const probe = join(dir, `incoming-${ids.short(12)}`)
  const file = await open(probe, O_RDWR | O_CREAT | O_EXCL, mode)
  try {
    return (await file.stat()).mode & 0o7777
  } finally {
    await file.close()
    await rm(probe, { force: true })
  }
}

/** The owner and the mode of the file that is replaced. False when a rename would be wrong: the file has other names too. */
const canTakePlace = async (fd: number, target: Target, port: FilePort): Promise<boolean> => {
  try {
    return (await port.resemble(fd, target.real, { mode: true })) <= 1
  } catch (error) {
    if (errno(error) === 'EPERM') return false
    throw error
  }
}

/** Something is mounted on the file, or it is on another file system. */
const cannotBeRenamed: ReadonlySet<string> = new Set(['EXDEV', 'EBUSY', 'EPERM', 'EACCES'])

/** Renames `data` over the target, once the few parts outside of it are copied into their places. */
const inPlace = async (upload: Upload, parts: readonly Part[], { port, ids }: AssembleDeps): Promise<boolean> => {
  const { dir, header } = upload
  const { adopt } = port
  if (!adopt || !fitsInPlace(upload, parts)) return false
  const target = await targetOf(port, header.path)
  if (target.stat && target.stat.kind !== 'file') return false
  const data = join(dir, dataName)
  const file = await open(data, O_RDWR | O_CREAT, 0o600)
  try {
    for (const [index, part] of parts.entries())
      if (!part.inSlot) await copyPart(upload, part, { fd: file.fd, at: index * (header.stride ?? 0) })
    await file.truncate(parts.reduce((sum, part) => sum + part.size, 0))
    if (!target.stat) await file.chmod(await masked(dir, header.mode, ids))
    else if (!(await canTakePlace(file.fd, target, port))) return false
  } finally {
    await file.close()
  }
  await port.mkdir(dirname(target.real), 0o755)
  try {
    await adopt(data, target.real)
    return true
  } catch (error) {
    // The parts are copied.
    if (!cannotBeRenamed.has(errno(error) ?? '')) throw error
    return false
  }
}

/** Makes the file. Throws the system's errors; the upload is then as it was. */
export const assemble = async (upload: Upload, parts: readonly Part[], deps: AssembleDeps): Promise<void> => {
  if (await inPlace(upload, parts, deps)) return
  await deps.whole.replace(upload.header.path, { fresh: upload.header.mode }, async fd => {
    let at = 0
    for (const part of parts) {
      await copyPart(upload, part, { fd, at })
      at += part.size
    }
  })
}
