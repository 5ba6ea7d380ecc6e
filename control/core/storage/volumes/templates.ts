/** Versions of volume templates: what a volume may begin with. */
import { fail } from '../../../../shared/errors.ts'
import type { Store } from '../../store/store.ts'

export interface Found {
  /** With its version: `name:3`. */
  readonly template: string
  /** Of a volume that names no size. */
  readonly sizeMb: number
  /** What its contents need. */
  readonly leastMb: number
}

export interface Templates {
  /** The version that `name:version` or `name:latest` leads to. Throws `invalid_argument`. */
  find(workspace: string, template: string): Promise<Found>
}

/** `kind` is the name of the kind of templates. */
export const templatesIn = (store: Pick<Store, 'resources'>, kind: string): Templates => ({
  async find(workspace, template) {
    const [name = '', version = ''] = template.split(':')
    const no = (reason: string) => fail('invalid_argument', { field: 'spec.template', reason })
    const record = await store.resources.get({ kind, workspace, parent: '', name })
    if (!record) throw no(`volumeTemplate "${name}" not found`)
    throw no(`volume template "${name}" has no version "${version}"`)
  },
})
