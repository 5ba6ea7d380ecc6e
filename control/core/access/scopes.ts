/** The scopes of OAuth: those of the contract, and those that its operations need without declaring them. */
import { everyScope } from './keys.ts'

const all = ['create', 'delete', 'get', 'list', 'update']

const actions: Readonly<Record<string, readonly string[]>> = {
  agents: all,
  applications: all,
  customdomains: all,
  functions: all,
  jobs: all,
  models: all,
  policies: all,
  sandboxes: [...all, 'control'],
  apiKey: ['list', 'write'],
  configurations: ['list'],
  invitations: ['list'],
  locations: ['list'],
  mcphub: ['list'],
  sandboxhub: ['list'],
  integrations: all,
  templates: ['get', 'list'],
  volumeTemplates: ['create', 'delete', 'get', 'list', 'upsert'],
  volumes: all,
  workspaces: ['accept', 'create', 'decline', 'delete', 'get', 'invite', 'leave', 'list', 'remove', 'update'],
  drives: all,
  egressgateways: all,
  egressips: all,
  vpcs: all,
  featureFlags: ['list', 'get'],
  images: ['list', 'get', 'create', 'delete', 'share'],
  metrics: ['get'],
  'warm-pools': ['list'],
}

/** What tells who somebody is, and lets a program come back: they open nothing here. */
const aboutPeople: ReadonlySet<string> = new Set(['openid', 'email', 'profile', 'offline_access'])

/** Every scope that can be granted. */
export const grantableScopes: readonly string[] = [
  everyScope,
  ...Object.entries(actions).flatMap(([resource, verbs]) => verbs.map(verb => `${resource}:${verb}`)),
]

const named = (text: string | undefined): string[] =>
  (text ?? '').split(' ').filter(scope => scope !== '' && !aboutPeople.has(scope))

/** What a list of scopes as OAuth writes it limits a credential to. */
export const scopesFrom = (text: string | undefined): string[] => named(text)

/** Those that cannot be granted. */
export const unknownScopes = (text: string | undefined): string[] =>
  named(text).filter(scope => !grantableScopes.includes(scope))

/**
 * Clients that name no scope of the API ask for what they have registered; without that, for all that whoever they act for may do, and
 * are given the scope that says so.
 */
export const withMeant = (text: string | undefined, registered?: string): string => {
  if (named(text).length > 0) return text ?? ''
  const own = named(registered)
  return [text, ...(own.length > 0 ? own : [everyScope])].filter(Boolean).join(' ')
}
