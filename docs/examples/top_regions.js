// What a model might write: for each region, the revenue of paid orders and the best customer.
async () => {
  const regions = ["North", "East", "South", "West"];
  const prices = await store.prices();
  const rows = await Promise.all(regions.map(async (region) => {
    const customers = await store.list_customers(region);
    const spent = await Promise.all(customers.map(async ({ id, name }) => {
      const paid = (await store.list_orders(id)).filter((order) => order.status === "paid");
      const revenue = paid.reduce((sum, order) => sum + order.quantity * prices[order.product], 0);
      return { name, revenue, orders: paid.length };
    }));
    const [best] = spent.toSorted((one, other) => other.revenue - one.revenue);
    const total = (field) => spent.reduce((sum, customer) => sum + customer[field], 0);
    return { region, customers: customers.length, paid: total("orders"), revenue: total("revenue"), best: best.name };
  }));
  console.log(`${rows.length} regions, ${Object.keys(prices).length} products`);
  return rows.toSorted((one, other) => other.revenue - one.revenue);
}
