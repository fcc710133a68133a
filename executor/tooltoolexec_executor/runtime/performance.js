// performance.now and performance.timeOrigin, by the run's own clock.

(() => {
  const token = {};

  class Performance {
    constructor(given = undefined) {
      if (given !== token) throw new TypeErrorConstructor("Performance has no constructor: use performance.");
    }

    get timeOrigin() {
      return clockOrigin;
    }

    now() {
      return performanceNow();
    }

    toJSON() {
      return { timeOrigin: clockOrigin };
    }
  }

  defineInterface(Performance);
  defineGlobal("performance", new Performance(token));
})();
