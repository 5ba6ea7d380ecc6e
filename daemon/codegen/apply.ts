import type { Files } from '../filesystem/files.ts'
import type { Provider } from './provider.ts'
import { readSource } from './source.ts'

const maxFileBytes = 16 * 1024 * 1024

interface Applied {
  readonly originalContent: string
  readonly updatedContent: string
  readonly provider: Provider['name']
}

/**
 * Has the provider merge `edit` into the file at `path`, which may be missing, and writes the result. Throws
 * `invalid_argument` for a directory, `unprocessable` for every other failure; then the file is unchanged.
 */
export const applyEdit = async (
  deps: { files: Files; provider: Provider },
  asked: { path: string; edit: string; model?: string | undefined },
  signal: AbortSignal,
): Promise<Applied> => {
  const { files, provider } = deps
  const { path, edit, model } = asked
  const originalContent = (await readSource(files.port, path, maxFileBytes)) ?? ''
  const updatedContent = await provider.apply({ code: originalContent, edit, model }, signal)
  await files.write(path, updatedContent, 0o644)
  return { originalContent, updatedContent, provider: provider.name }
}
