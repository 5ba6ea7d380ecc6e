/** What a browser keeps while it is at the operator's provider. */
import { callbackPath, keptSeconds } from './provider.ts'

const name = 'hutch_elsewhere'

/** The answer comes by an address of another site, which `Lax` allows and nothing else. */
const attributes = (issuer: string): string =>
  `Path=${callbackPath}; HttpOnly; SameSite=Lax${issuer.startsWith('https:') ? '; Secure' : ''}`

export const keptCookie = (kept: string, issuer: string): string =>
  `${name}=${kept}; ${attributes(issuer)}; Max-Age=${keptSeconds}`

export const forgottenCookie = (issuer: string): string => `${name}=; ${attributes(issuer)}; Max-Age=0`

export const keptIn = (cookies: string | string[] | undefined): string | undefined =>
  [cookies ?? []]
    .flat()
    .join(';')
    .split(';')
    .map(pair => pair.trim())
    .find(pair => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1)
