import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Hashtable;
import java.util.List;
import javax.naming.Context;
import javax.naming.NamingException;
import javax.naming.directory.Attribute;
import javax.naming.directory.InitialDirContext;

/** Prints a row for each name as getaddrinfo.c does with -r: through the C library (inet), or Java's own resolver (jndi). */
class Lookup {
    static List<String> inet(String name) {
        List<String> found = new ArrayList<>();
        try {
            for (InetAddress address : InetAddress.getAllByName(name)) found.add(address.getHostAddress());
        } catch (UnknownHostException error) {
            found.add("UnknownHostException");
        }
        return found;
    }

    static List<String> jndi(String name) {
        List<String> found = new ArrayList<>();
        Hashtable<String, String> environment = new Hashtable<>();
        environment.put(Context.INITIAL_CONTEXT_FACTORY, "com.sun.jndi.dns.DnsContextFactory");
        try {
            InitialDirContext context = new InitialDirContext(environment);
            for (String type : new String[] {"A", "AAAA"}) {
                Attribute records = context.getAttributes("dns:/" + name, new String[] {type}).get(type);
                for (int index = 0; records != null && index < records.size(); index++) {
                    found.add(InetAddress.getByName((String) records.get(index)).getHostAddress());
                }
            }
            if (found.isEmpty()) found.add("empty");
        } catch (NamingException | UnknownHostException error) {
            found.add(error.getClass().getSimpleName());
        }
        return found;
    }

    public static void main(String[] arguments) {
        for (int index = 1; index < arguments.length; index++) {
            long start = System.nanoTime();
            String name = arguments[index];
            List<String> found = arguments[0].equals("jndi") ? jndi(name) : inet(name);
            System.out.println(name + " " + String.join(" ", found) + " " + (System.nanoTime() - start) / 1_000_000);
        }
    }
}
