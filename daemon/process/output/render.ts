import { readSync, writeSync } from 'node:fs'
import { newline, prefixedBound, prefixLines, streamPrefixes, type StreamIndex } from './lines.ts'
import type { Positions } from './positions.ts'

const sourceBytes = 64 * 1024

/** Memory shared by all captures: each uses it within one turn of the event loop. */
export interface Scratch {
  readonly source: Buffer
  readonly target: Buffer
}

export const createScratch = (): Scratch => ({
  source: Buffer.allocUnsafeSlow(sourceBytes),
  target: Buffer.allocUnsafeSlow(prefixedBound(sourceBytes) + 1),
})

/** Appends to the combined log after what is committed; what a killed daemon left there is overwritten. */
const append = (fd: number, p: Positions, bytes: Buffer, length: number): void => {
  for (let done = 0; done < length; ) done += writeSync(fd, bytes, done, length - done, p.combined + done)
  p.combined += length
}

/** Ends an unfinished line of the other stream, so that a prefix always begins a line. */
const endOther = (fd: number, p: Positions, stream: StreamIndex): void => {
  if (p.openLine === -1 || p.openLine === stream) return
  append(fd, p, Buffer.from('\n'), 1)
  p.openLine = -1
}

/** A line of our own within the output of `stream`. */
export const renderLine = (fd: number, p: Positions, stream: StreamIndex, line: string): void => {
  const before = p.openLine === -1 ? '' : '\n'
  const bytes = Buffer.from(`${before}${streamPrefixes[stream].toString()}${line}\n`)
  append(fd, p, bytes, bytes.length)
  p.openLine = -1
}

/**
 * Copies the bytes of `stream` up to `to` into the combined log. Unless `to` is after a newline, the line stays open
 * and goes on with the next bytes.
 */
export const render = (
  fds: { stream: number; combined: number },
  p: Positions,
  stream: StreamIndex,
  to: number,
  scratch: Scratch,
): void => {
  const { source, target } = scratch
  endOther(fds.combined, p, stream)
  while (p.rendered[stream] < to) {
    const wanted = Math.min(source.length, to - p.rendered[stream])
    const length = readSync(fds.stream, source, 0, wanted, p.rendered[stream] - p.origins[stream])
    // Shorter than it was: the tenant truncated its own log file.
    if (length === 0) {
      p.rendered[stream] = to
      return
    }
    const made = prefixLines(source, 0, length, streamPrefixes[stream], target, p.openLine === stream)
    append(fds.combined, p, target, made)
    p.rendered[stream] += length
    p.openLine = source[length - 1] === newline ? -1 : stream
  }
}

/** Breaks a line that has grown too long. */
export const breakLine = (fd: number, p: Positions): void => {
  if (p.openLine === -1) return
  append(fd, p, Buffer.from('\n'), 1)
  p.openLine = -1
}
