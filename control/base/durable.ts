/** Small files that must be there whole or not at all, whatever moment the power goes. */
import { link, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errno } from '../../shared/errors.ts'
import type { Ids } from '../../shared/ids.ts'

/** What was renamed or linked in it survives a power cut. */
export const syncDirectory = async (path: string): Promise<void> => {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

const writeBeside = async (path: string, content: string, ids: Ids): Promise<string> => {
  const beside = join(dirname(path), `.${ids.short(12)}.new`)
  const file = await open(beside, 'wx', 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  return beside
}

/** Replaces the file (mode 0600); when it resolves, the content survives a power cut. */
export const writeDurably = async (path: string, content: string, ids: Ids): Promise<void> => {
  const beside = await writeBeside(path, content, ids)
  try {
    await rename(beside, path)
  } catch (error) {
    await rm(beside, { force: true })
    throw error
  }
  await syncDirectory(dirname(path))
}

/** The file's content, or undefined when there is none. */
export const readIfThere = (path: string): Promise<string | undefined> =>
  readFile(path, 'utf8').catch(error => {
    if (errno(error) === 'ENOENT') return undefined
    throw error
  })

/**
 * The file's content, made with `make` (mode 0600) when there is none. Of several processes that start at once
 * one makes it and all read the same.
 */
export const readOrCreate = async (path: string, make: () => string, ids: Ids): Promise<string> => {
  const found = await readIfThere(path)
  if (found !== undefined) return found
  const beside = await writeBeside(path, make(), ids)
  try {
    await link(beside, path)
  } catch (error) {
    if (errno(error) !== 'EEXIST') throw error
  } finally {
    await rm(beside, { force: true })
  }
  await syncDirectory(dirname(path))
  return readFile(path, 'utf8')
}
