/** `hutch account`: further accounts of this host, each with workspaces and people of its own. */
import { loadConfig } from '../base/config.ts'
import { adminLink } from '../server/access/identity/admin-link.ts'
import { createAccount } from '../server/access/identity/operator.ts'
import { publicUrlOf } from '../base/listening.ts'
import { misuse, type Invocation } from './command.ts'
import { withPeople } from './people.ts'
import { tableLines } from './table.ts'

const see = 'see hutch account --help'

export const run = async ({ env, cwd, words, options, say }: Invocation): Promise<number> => {
  const [verb, name, ...more] = words
  if (verb !== 'create' && verb !== 'list') throw misuse(`account takes create or list; ${see}`)
  if (verb === 'create' && !name) throw misuse(`account create needs a name; ${see}`)
  const extra = verb === 'list' ? name : more[0]
  if (extra !== undefined) throw misuse(`"${extra}" is one word too many; ${see}`)
  const [option] = Object.keys(options)
  if (verb === 'list' && option) throw misuse(`account list takes no --${option}; ${see}`)
  const config = loadConfig(env, cwd)
  await withPeople(config.dataDir, async (deps, { tenants }) => {
    if (verb === 'list') {
      const rows: string[][] = []
      for (const { id, displayName } of await tenants.accounts())
        rows.push([id, displayName, (await tenants.workspaces(id)).map(workspace => workspace.name).join(',') || '-'])
      return tableLines(['ACCOUNT', 'NAME', 'WORKSPACES'], rows).forEach(say)
    }
    const id = String(name)
    const workspace = String(options['workspace'] ?? id)
    await createAccount(deps, { name: id, workspace, displayName: String(options['display-name'] ?? '') })
    say(await adminLink(deps, publicUrlOf(config, config.port), id))
  })
  return 0
}
