/** Methods and paths that a rule does not allow, in the spellings servers understand. */
import type { Attempt } from './attempt.ts'

const asks = (
  name: string,
  method: string,
  target: (token: string) => string,
  headers: Record<string, string> = {},
  passesWhenOpen = true,
): Attempt => ({
  name,
  passesWhenOpen,
  run: ({ sandbox, token }) =>
    sandbox.say(
      `${method} http://api.example${target(token)} HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n${Object.entries(
        headers,
      )
        .map(([header, value]) => `${header}: ${value}\r\n`)
        .join('')}\r\n`,
    ),
})

export const paths: readonly Attempt[] = [
  asks('another path', 'GET', token => `/v2/${token}`),
  asks('the directory without its slash', 'GET', token => `/v1?${token}`),
  asks('a longer name', 'GET', token => `/v10/${token}`),
  asks('in capitals', 'GET', token => `/V1/${token}`),
  asks('up and over', 'GET', token => `/v1/../v2/${token}`),
  asks('up and over, escaped', 'GET', token => `/v1/%2e%2e/v2/${token}`),
  asks('up and over, half escaped', 'GET', token => `/v1/.%2e/v2/${token}`),
  asks('an escaped slash', 'GET', token => `/v1/..%2fv2/${token}`),
  asks('an escaped backslash', 'GET', token => `/v1/..%5cv2/${token}`),
  asks('a backslash', 'GET', token => `/v1/..\\v2/${token}`),
  asks('escaped twice', 'GET', token => `/v1/%252e%252e/v2/${token}`),
  asks('with a parameter of the segment', 'GET', token => `/v1/..;x=1/v2/${token}`),
  asks('overlong dots', 'GET', token => `/v1/%c0%ae%c0%ae/v2/${token}`, {}, false),
  asks('NUL', 'GET', token => `/v1/%00/../v2/${token}`, {}, false),
  asks('two slashes', 'GET', token => `//v1/${token}/../../v2`),
  asks('the path in the query', 'GET', token => `/v2?/v1/${token}`),
  asks('another path in a header', 'GET', () => '/v1/', { 'X-Original-URL': '/v2/secret' }, false),
  asks('another method', 'POST', token => `/v1/${token}`),
  asks('a method in small letters', 'post', token => `/v1/${token}`, {}, false),
  asks('another method in a header', 'GET', token => `/v1/${token}`, { 'X-HTTP-Method-Override': 'DELETE' }),
  {
    ...asks('a forbidden method in a header', 'POST', token => `/${token}`, { 'X-HTTP-Method': 'delete' }),
    policy: { forbiddenDomains: ['DELETE:api.example'] },
  },
  {
    ...asks('a forbidden path with a detour', 'GET', token => `/x/..%2fsecret/${token}`),
    policy: { forbiddenDomains: ['api.example/secret/'] },
  },
  { ...asks('all methods but one', 'GET', token => `/${token}`), policy: { forbiddenDomains: ['!POST:api.example'] } },
]
