/** Copies of what a machine writes to: a file with a file system in it, or a tree. */
import { open, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isError } from '../../../../shared/errors.ts'
import { run, tool } from '../command.ts'
import { bytesPerMb } from '../disk/shape.ts'

const timeoutMs = 600_000

export type Tree = 'disk.img' | 'upper' | 'private'

export interface Copying {
  /** Directories. */
  readonly from: string
  readonly to: string
  readonly tree: Tree
  /** Nobody has the file open any more who wrote it: the kernel may still be letting go of it, which is waited for. */
  readonly settled?: boolean
  readonly signal?: AbortSignal | undefined
}

/** Holes stay holes. Blocks are shared where the file system can. */
export const copyTree = async ({ from, to, tree, settled = false, signal }: Copying): Promise<void> => {
  const kept = ['--archive', '--preserve=xattr', '--sparse=auto', '--reflink=auto', '--no-target-directory']
  const args = [...kept, '--', join(from, tree), join(to, tree)]
  const isFile = tree === 'disk.img'
  const locked = isFile && settled ? ['--wait', '30', join(from, tree), tool('cp'), ...args] : undefined
  const file = locked ? tool('flock') : tool('cp')
  await run({ step: 'copy files', file, args: locked ?? args, signal, timeoutMs })
}

/** All of it is on the disk. */
export const syncTree = async (directory: string, tree: Tree, signal: AbortSignal | undefined): Promise<void> => {
  if (tree !== 'disk.img') {
    const args = ['--file-system', join(directory, tree)]
    return void (await run({ step: 'copy files', file: tool('sync'), args, signal, timeoutMs }))
  }
  const file = await open(join(directory, tree), 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Bytes that a tree takes of the disk. */
export const bytesOf = async (directory: string, tree: Tree, signal?: AbortSignal): Promise<number> => {
  if (tree === 'disk.img') return (await stat(join(directory, tree))).blocks * 512
  const args = ['--summarize', '--block-size=1', '--', join(directory, tree)]
  const said = await run({ step: 'size of files', file: tool('du'), args, signal, timeoutMs })
  return Number(said.split('\t')[0])
}

/** Whether files of the directory's file system can share their blocks: tried with one. */
export const sharesBlocks = async (directory: string): Promise<boolean> => {
  const path = join(directory, '.reflink')
  try {
    const { bsize } = await statfs(directory)
    await writeFile(path, Buffer.alloc(Math.min(Number(bsize), bytesPerMb), 1))
    await run({ step: 'reflink', file: tool('cp'), args: ['--reflink=always', '--', path, `${path}.copy`] })
    return true
  } catch (error) {
    if (isError(error, 'driver_failed')) return false
    throw error
  } finally {
    await rm(path, { force: true })
    await rm(`${path}.copy`, { force: true })
  }
}
