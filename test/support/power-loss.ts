/** What is on a disk whose power went: everything before its last flush, and of what was written since some blocks and others not. */
import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'

const blockBytes = 4_096
const written = 1
const flushed = 2

/** One block that is written, or gone; as `test/programs/record-writes.c` has it. */
interface Change {
  readonly block: number
  /** Undefined for one that reads as zero from now on. */
  readonly bytes: Uint8Array | undefined
}

/** What was done between two flushes. */
export interface Epoch {
  readonly changes: readonly Change[]
  /** Rounds that were over when it ended. */
  readonly step: number
}

const changesOf = (bytes: Uint8Array | undefined, at: number, length: number): Change[] =>
  Array.from({ length: Math.ceil(length / blockBytes) }, (_, index) => ({
    block: at / blockBytes + index,
    bytes: bytes?.subarray(index * blockBytes, (index + 1) * blockBytes),
  }))

/** Of a log; the last one is without a flush. */
export const epochsOf = (path: string): Epoch[] => {
  const log = readFileSync(path)
  const epochs: Epoch[] = []
  let changes: Change[] = []
  for (let place = 0; place < log.length; ) {
    const [what, step] = [log.readUInt32LE(place), log.readUInt32LE(place + 4)]
    const [at, length] = [Number(log.readBigUInt64LE(place + 8)), Number(log.readBigUInt64LE(place + 16))]
    place += 24
    if (what === flushed) {
      epochs.push({ changes, step })
      changes = []
      continue
    }
    changes.push(...changesOf(what === written ? log.subarray(place, place + length) : undefined, at, length))
    if (what === written) place += length
  }
  return epochs
}

/** Makes the file: a blank one, all of `kept` in their order, and of `last` what `reached` says of its index. */
export const afterPowerLoss = (
  path: string,
  blank: string,
  kept: readonly Epoch[],
  last: Epoch,
  reached: (index: number) => boolean,
): void => {
  const base = readFileSync(blank)
  const blocks = new Map<number, Uint8Array>()
  for (let block = 0; block * blockBytes < base.length; block++)
    blocks.set(block, base.subarray(block * blockBytes, (block + 1) * blockBytes))
  const zeros = new Uint8Array(blockBytes)
  for (const { block, bytes } of [
    ...kept.flatMap(epoch => epoch.changes),
    ...last.changes.filter((_, at) => reached(at)),
  ])
    blocks.set(block, bytes ?? zeros)
  const file = openSync(path, 'w', 0o600)
  ftruncateSync(file, base.length)
  for (const [block, bytes] of blocks)
    if (Buffer.compare(bytes, zeros) !== 0) writeSync(file, bytes, 0, blockBytes, block * blockBytes)
  closeSync(file)
}
