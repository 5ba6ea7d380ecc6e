/** Names that are not allowed, in all spellings, asked of the explicit proxy. */
import type { Attempt } from './attempt.ts'

const url = (name: string, address: (token: string) => string, passesWhenOpen = true): Attempt => ({
  name,
  passesWhenOpen,
  run: ({ sandbox, token }) =>
    sandbox.say(`GET ${address(token)} HTTP/1.1\r\nHost: ${hostIn(address(token))}\r\nConnection: close\r\n\r\n`),
})

const hostIn = (address: string): string => /^\w+:\/\/([^/?#]*)/.exec(address)?.[1] ?? ''

export const names: readonly Attempt[] = [
  url('a forbidden name', token => `http://forbidden.example/${token}`),
  url('a name that is not allowed', token => `http://evil.example/${token}`),
  url('in capitals', token => `http://FORBIDDEN.EXAMPLE/${token}`),
  url('with a dot at its end', token => `http://forbidden.example./${token}`),
  url('with a port', token => `http://forbidden.example:8080/${token}`),
  url('an allowed name as user name', token => `http://open.example@evil.example/${token}`, false),
  url('an allowed name after a hash', token => `http://evil.example#@open.example/${token}`, false),
  url('a backslash before the true host', token => `http://open.example\\@evil.example/${token}`, false),
  url('percent signs in the host', token => `http://e%76il.example/${token}`, false),
  url('a full-width dot', token => `http://evil\xef\xbc\x8eexample/${token}`, false),
  url('an allowed name as the beginning', token => `http://open.example.evil.example/${token}`, false),
  url('an allowed name as the end', token => `http://notopen.example/${token}`, false),
  url('a name with an empty label', token => `http://www..evil.example/${token}`, false),
  url('https in absolute form', token => `https://evil.example/${token}`, false),
  url('another scheme', token => `ftp://evil.example/${token}`, false),
  {
    ...url('the parent of a wildcard', token => `http://open.example/${token}`),
    policy: { allowedDomains: ['*.open.example'] },
  },
  {
    ...url('a list of nothing that can be named', token => `http://open.example/${token}`),
    policy: { allowedDomains: ['open.example:80', '*open.example'] },
  },
  {
    ...url('a wildcard that an address would fit', token => `http://203.0.113.10/${token}`),
    policy: { allowedDomains: ['*.113.10', 'open.example'] },
  },
  {
    ...url('a forbidden name with a port', token => `http://evil.example/${token}`),
    policy: { forbiddenDomains: ['evil.example:8443'] },
  },
  {
    ...url('letters of another script', token => `http://xn--bcher-kva.example/${token}`),
    policy: { forbiddenDomains: ['BÜCHER.example'] },
  },
  {
    name: 'CONNECT to a name that is not allowed',
    passesWhenOpen: true,
    async run({ sandbox, token }) {
      const socket = await sandbox.tunnel('evil.example:80')
      if ('write' in socket) socket.write(`GET /${token} HTTP/1.1\r\nHost: evil.example\r\n\r\n`)
    },
  },
]
