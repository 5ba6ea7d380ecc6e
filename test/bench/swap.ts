/** Swap of the benchmark's own, in compressed memory or in a file, which is gone when it ends. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import type { Bench } from './measure.ts'

export interface Swap {
  readonly kind: 'zram' | 'file'
  /** Bytes of memory that it takes itself. */
  ownBytes(): number
  /** Everything in it comes back into memory. */
  remove(): Promise<void>
}

const control = '/sys/class/zram-control'

/** Undefined where the kernel has no zram. */
const zram = async (bytes: number): Promise<Swap | undefined> => {
  if (!existsSync(control)) return undefined
  const number = readFileSync(join(control, 'hot_add'), 'utf8').trim()
  const [state, device] = [`/sys/block/zram${number}`, `/dev/zram${number}`]
  const remove = async () => {
    await execa('swapoff', [device], { reject: false })
    writeFileSync(join(state, 'reset'), '1')
    writeFileSync(join(control, 'hot_remove'), number)
  }
  try {
    if (/\blz4\b/.test(readFileSync(join(state, 'comp_algorithm'), 'utf8')))
      writeFileSync(join(state, 'comp_algorithm'), 'lz4')
    writeFileSync(join(state, 'disksize'), String(bytes))
    await execa('mkswap', [device])
    await execa('swapon', ['-p', '100', device])
  } catch (error) {
    await remove()
    throw error
  }
  // The third figure is what it takes of memory, its own bookkeeping included (admin-guide/blockdev/zram).
  const ownBytes = () => Number(readFileSync(join(state, 'mm_stat'), 'utf8').trim().split(/\s+/)[2])
  return { kind: 'zram', ownBytes, remove }
}

const swapFile = async (bytes: number): Promise<Swap> => {
  const directory = mkdtempSync(join(tmpdir(), 'hutch-bench-swap-'))
  const file = join(directory, 'swap')
  const remove = async () => {
    await execa('swapoff', [file], { reject: false })
    rmSync(directory, { recursive: true })
  }
  try {
    await execa('fallocate', ['-l', String(bytes), file])
    await execa('chmod', ['600', file])
    await execa('mkswap', [file])
    await execa('swapon', [file])
  } catch (error) {
    await remove()
    throw error
  }
  return { kind: 'file', ownBytes: () => 0, remove }
}

export const hasSwap = (): boolean => readFileSync('/proc/swaps', 'utf8').trimEnd().split('\n').length > 1

/** Throws what the box says when it cannot have it. */
export const makeSwap = async (bench: Bench, kind: Swap['kind'], bytes: number): Promise<Swap | undefined> => {
  const swap = kind === 'zram' ? await zram(bytes) : await swapFile(bytes)
  if (!swap) return undefined
  let there = true
  const remove = async () => {
    if (there) await swap.remove()
    there = false
  }
  bench.later(`swap ${kind}`, remove)
  return { ...swap, remove }
}
