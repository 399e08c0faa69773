import { describe, expect, test } from 'vitest'
import { Chains } from '../chain/compose.js'
import { canonicalName } from '../message/name.js'
import { Question } from '../message/question.js'
import { Routes } from './route.js'

const A = 1
const DS = 43

function routesOf(...zones: readonly string[]): Routes {
  const routes = new Routes()
  for (const zone of zones) routes.add(canonicalName(zone), { chains: new Chains([]) })
  return routes
}

describe('a query goes to the zone with the longest apex', () => {
  const routes = routesOf('.', 'org', 'example.org', 'deep.in.example.org', 'a\\.b.example.org', 'b.example.org')

  test.each<[string, string]>([
    ['example.org.', 'example.org.'],
    ['www.example.org.', 'example.org.'],
    ['in.example.org.', 'example.org.'],
    ['x.deep.in.example.org.', 'deep.in.example.org.'],
    ['xexample.org.', 'org.'],
    ['org.', 'org.'],
    ['net.', '.'],
    ['.', '.'],
    ['a\\.b.example.org.', 'a\\.b.example.org.'],
    ['x.a\\.b.example.org.', 'a\\.b.example.org.'],
    ['a.b.example.org.', 'b.example.org.'],
    // One label that ends in an escaped dot, and one that ends in a backslash.
    ['x\\.b.example.org.', 'example.org.'],
    ['x\\\\.b.example.org.', 'b.example.org.'],
    ['\\000.example.org.', 'example.org.']
  ])('%s', (qname, apex) => {
    expect(routes.find(Question.of(qname, A, 1))?.apex).toBe(apex)
  })

  test('and to none where no zone has it', () => {
    expect(routesOf('example.org').find(Question.of('example.net.', A, 1))).toBeUndefined()
    expect(routesOf('example.org').find(Question.of('.', A, 1))).toBeUndefined()
    expect(routesOf().find(Question.of('example.net.', DS, 1))).toBeUndefined()
  })
})

describe('DS at an apex goes to the parent side of the cut', () => {
  test.each<[string, readonly string[], string]>([
    ['a.example.org.', ['a.example.org', 'example.org'], 'example.org.'],
    ['a.example.org.', ['a.example.org', 'org'], 'org.'],
    ['x.a.example.org.', ['a.example.org', 'example.org'], 'a.example.org.'],
    // Who serves the root as well forwards there, and knows nothing of the parent.
    ['a.example.org.', ['a.example.org', '.'], 'a.example.org.'],
    ['a.example.org.', ['a.example.org'], 'a.example.org.'],
    ['.', ['.'], '.']
  ])('%s of %j', (qname, zones, apex) => {
    expect(routesOf(...zones).find(Question.of(qname, DS, 1))?.apex).toBe(apex)
  })
})

test('a zone is added once: whose it is already is told, and stays so', () => {
  const routes = new Routes<{ chains: Chains; name: string }>()
  const [one, two] = ['one', 'two'].map((name) => ({ chains: new Chains([]), name })) as [
    { chains: Chains; name: string },
    { chains: Chains; name: string }
  ]
  expect(routes.add('example.org.', one)).toBeUndefined()
  expect(routes.add('example.org.', two)).toBe(one)
  expect(routes.find(Question.of('example.org.', A, 1))?.block).toBe(one)
  expect(routes.zones).toEqual(['example.org.'])
})
