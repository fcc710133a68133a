// The program's proxies. They cannot be told from their targets afterwards, so the runtime keeps note of each.

const { knownProxies, noted, proxyTarget } = (() => {
  const knownProxies = new WeakSet();
  const targets = new WeakMap();
  const WeakMapGet = uncurry(WeakMap.prototype.get);
  const WeakMapSet = uncurry(WeakMap.prototype.set);

  // The runtime's own proxies, the providers, give no target.
  function noted(proxy, target) {
    WeakSetAdd(knownProxies, proxy);
    if (target !== undefined) WeakMapSet(targets, proxy, target);
    return proxy;
  }

  // What to show of a proxy: its target, null once it is revoked, undefined for one of the runtime's own.
  const proxyTarget = (proxy) => WeakMapGet(targets, proxy);

  const makeRevocable = ProxyConstructor.revocable;
  ProxyConstructor.revocable = (target, handler) => {
    const pair = makeRevocable(target, handler);
    const { proxy, revoke } = pair;
    noted(proxy, target);
    pair.revoke = () => {
      WeakMapSet(targets, proxy, null);
      revoke();
    };
    return pair;
  };
  globalThis.Proxy = new ProxyConstructor(ProxyConstructor, {
    __proto__: null,
    construct: (target, args, newTarget) => noted(ReflectConstruct(target, args, newTarget), args[0]),
  });
  return { knownProxies, noted, proxyTarget };
})();
