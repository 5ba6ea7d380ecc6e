/** What can be done with records of a kind besides the five verbs: one declared endpoint each. */
import type { ErrorCode } from '../../../shared/errors.ts'
import type { Method } from '../../../shared/route.ts'
import type { Shape } from '../../../shared/schema.ts'
import type { Access } from '../access/access.ts'
import type { Actor, Context } from './context.ts'
import type { Found } from './kind.ts'

/** What a caller asked, parsed by the shapes of the action. */
export interface Asked {
  readonly actor: Actor
  readonly params: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body: unknown
  /** The record that is meant; undefined for an action on the collection. */
  readonly found?: Found
}

export interface Action {
  /** Its id is `{plural}.{name}`. */
  readonly name: string
  readonly summary: string
  readonly method: Method
  /** What follows the address of the record, of the collection, or of the API: `usages`, `versions/:versionName`. */
  readonly path: string
  readonly on: 'record' | 'collection' | 'workspace'
  readonly access: Access
  readonly query?: Readonly<Record<string, Shape>>
  readonly body?: Shape
  /** Statuses of its answers besides 200 and those of errors, and when. */
  readonly statuses?: Readonly<Record<number, string>>
  /** The record as it is answered, unless given. */
  readonly returns?: Shape
  readonly errors?: readonly ErrorCode[]
  run(context: Context, asked: Asked): Promise<unknown>
}
