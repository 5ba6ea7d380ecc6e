/** One way to get out of what a policy allows. `token` must reach nobody; it is in what the attempt sends. */
import type { Internet } from '../../../../support/internet/index.ts'

export interface Try extends Internet {
  readonly token: string
}

export interface Attempt {
  readonly name: string
  /** The policy that has to hold; the usual one unless given. */
  readonly policy?: object
  run(on: Try): Promise<unknown>
  /**
   * Under the open policy `{}` the same attempt gets through: the proof that it would be noticed. False for what is closed to
   * everybody, whatever the policy.
   */
  readonly passesWhenOpen: boolean
}

export const usualPolicy = {
  allowedDomains: ['open.example', '*.open.example', 'GET:api.example/v1/', 'single.example', 'mail.example'],
  forbiddenDomains: ['forbidden.example', 'other.example/secret', 'DELETE:open.example'],
  routing: [
    {
      destinations: ['api.example'],
      headers: { authorization: 'Bearer {{SECRET:key}}' },
      secrets: { key: 'TOP-SECRET-VALUE' },
    },
  ],
} as const
