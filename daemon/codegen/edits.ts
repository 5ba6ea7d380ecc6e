/** Edits by a provider, as tools: one file, the last edit again, or one plan for many files. */
import { messageOf, isError } from '../../shared/errors.ts'
import { semaphore } from '../../shared/sync.ts'
import type { Files } from '../filesystem/files.ts'
import { applyEdit } from './apply.ts'
import type { Provider } from './provider.ts'

const atATime = 4
const maxRemembered = 100

interface Region {
  /** Absolute. */
  readonly path: string
  readonly startLine?: number | undefined
  readonly endLine?: number | undefined
}

export interface Outcome {
  readonly success: boolean
  readonly message: string
}

export interface Edits {
  /** Throws as `applyEdit`. */
  edit(path: string, edit: string, signal: AbortSignal): Promise<void>
  /** Merges the last edit of the file again, into the file as it is now. Throws as `applyEdit` does. */
  reapply(path: string, signal: AbortSignal): Promise<Outcome>
  /** Applies one plan to every region; a failure does not stop the others. */
  applyPlan(plan: string, regions: readonly Region[], signal: AbortSignal): Promise<Outcome>
}

const whereOf = ({ startLine, endLine }: Region): string => {
  if (startLine === undefined && endLine === undefined) return ''
  return ` Change only lines ${startLine ?? 1} to ${endLine ?? 'the end'}.`
}

export const createEdits = (deps: { files: Files; provider: Provider }): Edits => {
  const last = new Map<string, string>()
  const limited = semaphore(atATime)
  const remember = (path: string, edit: string) => {
    last.delete(path)
    last.set(path, edit)
    const [oldest] = last.keys()
    if (last.size > maxRemembered && oldest !== undefined) last.delete(oldest)
  }
  const apply = async (path: string, edit: string, signal: AbortSignal) => {
    remember(path, edit)
    await applyEdit(deps, { path, edit, model: 'auto' }, signal)
  }
  return {
    edit: apply,
    async reapply(path, signal) {
      const edit = last.get(path)
      if (edit === undefined) return { success: false, message: 'no edit of this file is known; use codegenEditFile' }
      await apply(path, edit, signal)
      return { success: true, message: 'The last edit was merged again' }
    },
    async applyPlan(plan, regions, signal) {
      const failures: string[] = []
      const one = async (region: Region) => {
        try {
          await applyEdit(deps, { path: region.path, edit: `${plan}${whereOf(region)}`, model: 'auto' }, signal)
        } catch (error) {
          if (!isError(error)) throw error
          failures.push(`${region.path}: ${messageOf(error)}`)
        }
      }
      // Regions of the same file are done one after the other, since each edit replaces the whole file.
      const byFile = Map.groupBy(regions, ({ path }) => path)
      await Promise.all(
        [...byFile.values()].map(group =>
          limited(async () => {
            for (const region of group) await one(region)
          }),
        ),
      )
      const done = `${regions.length - failures.length} of ${regions.length} regions edited`
      return { success: failures.length === 0, message: [done, ...failures].join('; ') }
    },
  }
}
