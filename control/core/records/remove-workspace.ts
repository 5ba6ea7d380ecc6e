import type { AuditedBy } from '../store/store.ts'
import type { Transition } from '../transitions/transition.ts'
import { pokeAll, type CrudDeps } from './context.ts'

/**
 * Deletes the workspace of that name in one transaction, with its keys and all that is in it; its machines are then stopped,
 * also after a crash. Throws `not_found`, and `wrong_state` for the last one of its account.
 */
export type RemoveWorkspace = (name: string, by: AuditedBy) => Promise<void>

export const workspaceRemover =
  (deps: Pick<CrudDeps, 'poke'> & { readonly transition: Transition }): RemoveWorkspace =>
  async (name, by) =>
    pokeAll(deps, await deps.transition.write([{ removeWorkspace: name }], by))
