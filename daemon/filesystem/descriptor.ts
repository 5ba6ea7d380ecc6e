/** Reading, writing and closing descriptors by callback; data goes between node:fs and the caller, not through the port. */
import { close, fstat, ftruncate, futimes, read, write } from 'node:fs'
import { toFileStat } from './stat.ts'
import type { FileStat } from './port.ts'

export const statFd = (fd: number): Promise<FileStat> =>
  new Promise((resolve, reject) =>
    fstat(fd, { bigint: true }, (error, stats) => (error ? reject(error) : resolve(toFileStat(stats)))),
  )

/** Bytes read into `buffer`; fewer than asked for at the end. `position` null reads on from where it was. */
export const readFd = (fd: number, buffer: Uint8Array, position: number | null): Promise<number> =>
  new Promise((resolve, reject) =>
    read(fd, buffer, 0, buffer.length, position, (error, count) => (error ? reject(error) : resolve(count))),
  )

/** Writes all of `bytes` at the descriptor's current position. */
export const writeFd = (fd: number, bytes: Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    const next = (from: number): void =>
      write(fd, bytes, from, bytes.length - from, null, (error, count) => {
        if (error) return reject(error)
        if (from + count >= bytes.length) return resolve()
        next(from + count)
      })
    if (bytes.length === 0) resolve()
    else next(0)
  })

export const truncateFd = (fd: number, size: number): Promise<void> =>
  new Promise((resolve, reject) => ftruncate(fd, size, error => (error ? reject(error) : resolve())))

/** The last second that a Date can hold. */
const lastSecond = 8_640_000_000_000

/** Sets both times; seconds since the epoch, which may be before it. */
export const touchFd = (fd: number, seconds: number): Promise<void> =>
  new Promise((resolve, reject) => {
    // As a Date, since futimes takes a negative number for now.
    const time = new Date(Math.max(-lastSecond, Math.min(lastSecond, seconds)) * 1000)
    futimes(fd, time, time, error => (error ? reject(error) : resolve()))
  })

/** Closes; the error matters after writing, since network file systems report a failed write there. */
export const closeFd = (fd: number): Promise<void> =>
  new Promise((resolve, reject) => close(fd, error => (error ? reject(error) : resolve())))

/** Closes what was only read, if it is open still (not -1); nothing can be lost, so nobody waits. */
export const dropFd = (fd: number): void => {
  if (fd < 0) return
  close(fd, () => {
    // A failed close of a descriptor that was only read changes nothing for anybody.
  })
}

const firstRead = 64 * 1024

/**
 * The whole content. `size` comes from stat and is only a hint: files of /proc report 0 and have content, others shrink
 * meanwhile; one that grows is read up to that size. Throws `ERR_FS_FILE_TOO_LARGE` (a RangeError with that code)
 * beyond `limit` bytes.
 */
export const readAll = async (fd: number, size: number, limit: number): Promise<Buffer> => {
  const tooLarge = () =>
    Object.assign(new RangeError(`the file is larger than ${limit} bytes`), { code: 'ERR_FS_FILE_TOO_LARGE' })
  if (size > limit) throw tooLarge()
  let buffer = Buffer.allocUnsafe(size > 0 ? size : firstRead)
  let filled = 0
  for (;;) {
    const count = await readFd(fd, buffer.subarray(filled), size > 0 ? filled : null)
    filled += count
    if (count === 0 || (size > 0 && filled === size)) return buffer.subarray(0, filled)
    if (filled > limit) throw tooLarge()
    if (filled === buffer.length) buffer = Buffer.concat([buffer], Math.min(buffer.length * 2, limit + 1))
  }
}

const copyBlock = 1024 * 1024

/** Writes all of `bytes` at `position`. */
const writeFdAt = (fd: number, bytes: Uint8Array, position: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const next = (from: number): void =>
      write(fd, bytes, from, bytes.length - from, position + from, (error, count) => {
        if (error) return reject(error)
        if (from + count >= bytes.length) return resolve()
        next(from + count)
      })
    next(0)
  })

/** Copies `length` bytes between descriptors; the next block is read while one is written. Throws `EIO` at an early end. */
export const copyFd = async (
  from: { fd: number; at: number },
  to: { fd: number; at: number },
  length: number,
): Promise<void> => {
  const buffers = [0, 1].map(() => Buffer.allocUnsafeSlow(Math.min(copyBlock, length)))
  let taken = 0
  const next = async (index: number): Promise<Buffer> => {
    const buffer = buffers[index % 2] as Buffer
    const count = await readFd(from.fd, buffer.subarray(0, Math.min(buffer.length, length - taken)), from.at + taken)
    if (count === 0) throw Object.assign(new Error('EIO: the source ended early'), { code: 'EIO' })
    taken += count
    return buffer.subarray(0, count)
  }
  let put = 0
  let reading = length > 0 ? next(0) : undefined
  for (let index = 1; reading; index++) {
    const block: Buffer = await reading
    reading = taken < length ? next(index) : undefined
    const [wrote] = await Promise.allSettled([writeFdAt(to.fd, block, to.at + put), reading])
    if (wrote.status === 'rejected') throw wrote.reason
    put += block.length
  }
}
