/** Brings an image in for every data directory of this machine, beside those that were built. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fail } from '../../../shared/errors.ts'
import type { Config } from '../../base/config.ts'
import { importImage, type ImportDeps } from './import.ts'
import { readName } from './layout.ts'
import { keyOf } from './reference.ts'

/** Resolves with the image's digest. Throws `invalid_argument` for what is no name, `image_failed`. */
export const importShared = async (
  { imagesDir, wireNames, imageAliases }: Pick<Config, 'imagesDir' | 'wireNames' | 'imageAliases'>,
  [name, source]: readonly [name: string, source: string],
  deps: Omit<ImportDeps, 'own'>,
): Promise<string> => {
  const key = keyOf(name, { wireNames, aliases: imageAliases })
  if (!key) throw fail('invalid_argument', { field: 'NAME', reason: `"${name}" is not a name for an image` })
  for (const part of ['names', 'trees']) await mkdir(join(imagesDir, part), { recursive: true })
  await importImage({ ...deps, own: imagesDir }, key, source)
  return (await readName(imagesDir, key)) ?? Promise.reject(fail('not_found', { kind: 'image', name: key }))
}
