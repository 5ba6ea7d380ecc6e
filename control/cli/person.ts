/** `hutch person`: who signs in here. */
import { loadConfig, type Config } from '../base/config.ts'
import {
  listPeople,
  passwordLink,
  removePerson,
  setAccountAdmin,
  unbindPerson,
  type OperatorDeps,
} from '../server/access/identity/operator.ts'
import { publicUrlOf } from '../base/listening.ts'
import { misuse, type Invocation } from './command.ts'
import { withPeople } from './people.ts'
import { tableLines } from './table.ts'

const see = 'see hutch person --help'
const columns = ['EMAIL', 'NAME', 'ACCOUNT', 'ACCOUNT ADMIN', 'WORKSPACES', 'PASSWORD', 'EMAIL PROVEN']

interface Context {
  readonly deps: OperatorDeps
  readonly config: Config
  readonly say: Invocation['say']
}

const yes = (is: boolean): string => (is ? 'yes' : 'no')

const list = async ({ deps, say }: Context): Promise<void> => {
  const rows = (await listPeople(deps)).map(one => [
    one.email,
    one.name,
    one.account,
    yes(one.accountAdmin),
    one.workspaces.join(',') || '-',
    yes(one.hasPassword),
    yes(one.emailProven),
  ])
  tableLines(columns, rows).forEach(say)
}

const verbs: Readonly<Record<string, (context: Context, email: string) => Promise<void>>> = {
  link: async ({ deps, config, say }, email) =>
    say(`${publicUrlOf(config, config.port)}${await passwordLink(deps, email)}`),
  async admin({ deps, say }, email) {
    await setAccountAdmin(deps, email, true)
    say(`${email} is an admin of the account`)
  },
  async member({ deps, say }, email) {
    await setAccountAdmin(deps, email, false)
    say(`${email} is no admin of the account`)
  },
  async unbind({ deps, say }, email) {
    await unbindPerson(deps, email)
    say(`${email} is bound to nobody of your provider; all logins are over`)
  },
  async remove({ deps, say }, email) {
    await removePerson(deps, email)
    say(`removed ${email}, with all keys and logins`)
  },
}

export const run = async ({ env, cwd, words, say }: Invocation): Promise<number> => {
  const [name = '', email, ...more] = words
  const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined
  if (!verb && name !== 'list') throw misuse(`person takes list, link, admin, member, unbind or remove; ${see}`)
  if (verb && !email) throw misuse(`person ${name} needs an e-mail address; ${see}`)
  const extra = verb ? more[0] : email
  if (extra !== undefined) throw misuse(`"${extra}" is one word too many; ${see}`)
  const config = loadConfig(env, cwd)
  await withPeople(config.dataDir, deps =>
    verb ? verb({ deps, config, say }, String(email)) : list({ deps, config, say }),
  )
  return 0
}
