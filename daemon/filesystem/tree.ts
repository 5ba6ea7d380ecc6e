/** Trees: several files at once, by an absolute path. */
import { posix } from 'node:path'
import { errno, fail, messageOf } from '../../shared/errors.ts'
import type { DirectoryObject } from './describe.ts'
import { asUnprocessable } from './failures.ts'
import type { Files } from './files.ts'
import { readContents } from './tree-contents.ts'
import type { In } from '../../shared/schema.ts'
import type { readTree as readTreeRoute } from '../../shared/wire/filesystem.ts'

/**
 * One level, or what is below and contents as well. Missing or not a directory is the caller's mistake (400), other failures are the
 * system's (422).
 */
export const readTree = async (
  files: Files,
  path: string,
  asked: { readonly recursive: boolean; readonly content: boolean; readonly signal: AbortSignal },
): Promise<In<typeof readTreeRoute.returns>> => {
  try {
    if (!asked.recursive && !asked.content) return await files.list(path, path)
    const { files: found = [], subdirectories = [], ...root } = await readContents(files, path, asked)
    return { ...root, files: found, subdirectories }
  } catch (error) {
    const code = errno(error)
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw fail('invalid_argument', { field: 'path', reason: `is not a directory: ${messageOf(error)}` }, error)
    throw asUnprocessable(error)
  }
}

/** Writes each file, one after the other; those written before a failure stay. Answers the listing of the root. */
export const writeTree = async (
  files: Files,
  path: string,
  contents: Readonly<Record<string, string>>,
): Promise<DirectoryObject> => {
  await files.makeDirectory(path, 0o755)
  for (const [name, content] of Object.entries(contents))
    await files.write(posix.resolve(path, `./${name}`), content, 0o644)
  try {
    return await files.list(path, path)
  } catch (error) {
    throw asUnprocessable(error)
  }
}

/** Missing or not a directory is 422 here. */
export const deleteTree = async (files: Files, path: string, recursive: boolean): Promise<void> => {
  const { kind } = await files.port.stat(path).catch(error => {
    throw asUnprocessable(error)
  })
  if (kind !== 'directory') throw fail('unprocessable', { reason: `${path} is not a directory` })
  await files.remove(path, recursive)
}
